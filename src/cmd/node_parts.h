#pragma once

#include <memory>
#include <string>

#include "api/options.h"
#include "base/result.h"
#include "cmd/gguf_tokenizer.h"
#include "config/resolve.h"
#include "config/serve_config.h"
#include "exec/cpu_executor.h"
#include "kernels/kernel_table.h"
#include "kv/kv_pool_size.h"
#include "metrics/registry.h"
#include "model/gguf_model.h"
#include "net/http_server.h"
#include "os/log.h"
#include "tokenizer/chat_template.h"

namespace weir {

/// What the model's header and the flags decide, before weights are loaded.
struct NodePlan {
    std::shared_ptr<GgufModel> files;
    GgufTokenizer tokenizer;
    const KernelTable* kernels = nullptr;
    SchedulerConfig scheduler;
    CacheConfig cache;
    KvPoolSize pool;
    int32_t num_threads = 1;
    std::string model;  // Path as resolved.
};

/// Opens the model, sizes the KV cache, checks flags against each other. Refuses what does not fit
/// before anything large is touched.
Result<NodePlan> plan_node(const LoadedConfig& loaded, Logger& log);

HttpServerOptions http_options(const ServeConfig& config);
Result<ApiOptions> api_options(const LoadedConfig& loaded, const NodePlan& plan);
Result<MetricsOptions> metrics_options(const ServeConfig& config, const ApiOptions& api);
CacheConfigFacts cache_facts(const LoadedConfig& loaded, const NodePlan& plan);
/// The template of --chat-template or of the model; null if there is none.
Result<std::unique_ptr<ChatTemplate>> load_chat_template(const ServeConfig& config,
                                                         const NodePlan& plan);

}  // namespace weir
