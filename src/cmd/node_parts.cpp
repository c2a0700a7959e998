#include "cmd/node_parts.h"

#include <algorithm>

#include "api/routes.h"
#include "base/text.h"
#include "base/units.h"
#include "model/model_path.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/cpu_info.h"
#include "os/environment.h"
#include "os/file.h"

namespace weir {

namespace {

constexpr const char* kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::string environment_or(const char* name, const std::string& fallback) {
    const std::optional<std::string> value = environment_variable(name);
    return value && !value->empty() ? *value : fallback;
}

int32_t environment_int(const char* name, int32_t fallback) {
    const Result<int64_t> value = parse_human_int(environment_or(name, ""));
    return value && *value > 0 ? static_cast<int32_t>(*value) : fallback;
}

Result<std::string> find_model(const ServeConfig& config) {
    if (!config.model.empty()) return resolve_model_path(config.model);
    const std::string path = concat(cache_directory(), "/models/", kDefaultModel);
    if (Result<std::string> found = resolve_model_path(path)) return found;
    return fail(ErrorCode::kFileNotFound,
                concat("no MODEL was given and the default model is not in the cache (", path,
                       "): run `make model`, or give a GGUF file: weir serve MODEL.gguf"));
}

Result<KvPoolSize> size_pool(const ServeConfig& config, const SchedulerConfig& scheduler,
                             const CpuMemoryNeed& need) {
    const MemoryInfo memory = read_memory_info();
    KvPoolInput input;
    input.memory_bytes = memory.total_bytes;
    input.memory_free_bytes = memory.available_bytes;
    input.weight_bytes = need.weight_bytes;
    input.activation_bytes = need.activation_bytes;
    input.block_bytes = need.block_bytes;
    input.block_size = static_cast<int32_t>(config.block_size);
    input.max_model_len = scheduler.max_model_len;
    input.fit_max_model_len = config.max_model_len == -1;
    input.max_num_seqs = scheduler.max_num_seqs;
    input.gpu_memory_utilization = config.gpu_memory_utilization;
    input.kv_cache_memory_bytes = config.kv_cache_memory_bytes;
    if (config.num_gpu_blocks_override) {
        input.num_gpu_blocks_override = static_cast<int32_t>(*config.num_gpu_blocks_override);
    }
    return size_kv_pool(input);
}

std::vector<std::string> strings_of(const Json& list) {
    std::vector<std::string> out;
    if (!list.is_array()) return out;
    for (const Json& item : list.items()) {
        if (item.is_string()) out.push_back(item.as_string());
    }
    return out;
}

void set_number(const Json& source, const char* name, std::optional<double>& field) {
    if (source[name].is_number()) field = source[name].as_double();
}

void set_number(const Json& source, const char* name, std::optional<int64_t>& field) {
    if (source[name].is_int()) field = source[name].as_int();
}

void apply_generation(const Json& source, GenerationDefaults& out) {
    set_number(source, "temperature", out.temperature);
    set_number(source, "top_p", out.top_p);
    set_number(source, "min_p", out.min_p);
    set_number(source, "repetition_penalty", out.repetition_penalty);
    set_number(source, "presence_penalty", out.presence_penalty);
    set_number(source, "frequency_penalty", out.frequency_penalty);
    set_number(source, "top_k", out.top_k);
    set_number(source, "max_new_tokens", out.max_new_tokens);
}

/// Sampling defaults out of --generation-config FOLDER and --override-generation-config.
Result<GenerationDefaults> generation_defaults(const ServeConfig& config) {
    GenerationDefaults out;
    if (config.generation_config != "auto" && config.generation_config != "vllm") {
        TRY(const Json file, read_json_file(config.generation_config + "/generation_config.json"));
        apply_generation(file, out);
        out.max_new_tokens_is_limit = out.max_new_tokens.has_value();
    }
    apply_generation(config.override_generation_config, out);
    if (config.override_generation_config["max_new_tokens"].is_int()) {
        out.max_new_tokens_is_limit = true;
    }
    return out;
}

}  // namespace

Result<NodePlan> plan_node(const LoadedConfig& loaded, Logger& log) {
    const ServeConfig& config = loaded.config;
    NodePlan plan;
    TRY(plan.model, find_model(config));
    TRY(plan.files, open_gguf_model(plan.model));
    const ModelConfig& model = plan.files->config();
    log.info(concat("Resolved architecture: ", model.architecture));
    TRY(plan.tokenizer, read_gguf_tokenizer(plan.files->gguf()));
    for (const std::string& warning : plan.tokenizer.warnings) log.warning(warning);

    const CpuInfo cpu = read_cpu_info();
    TRY(plan.kernels, kernels::select(cpu, environment_or("WEIR_ISA", "")));
    plan.num_threads = config.threads ? static_cast<int32_t>(*config.threads)
                                      : std::max(1, cpu.num_cores);
    const bool longer = environment_or("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0") == "1";
    TRY(const int64_t max_model_len,
        resolve_max_model_len(config, model.max_position_embeddings, longer));
    TRY(ResolvedScheduler resolved, resolve_scheduler(config, max_model_len));
    TRY(const CpuMemoryNeed need,
        cpu_memory_need(*plan.files, *plan.kernels, resolved.scheduler.max_num_batched_tokens,
                        static_cast<int32_t>(config.block_size)));
    TRY(plan.pool, size_pool(config, resolved.scheduler, need));
    if (plan.pool.max_model_len != resolved.scheduler.max_model_len) {
        log.info(concat("Auto-fit max_model_len: reduced from ", resolved.scheduler.max_model_len,
                        " to ", plan.pool.max_model_len, " to fit in the KV cache"));
        TRY(resolved, resolve_scheduler(config, plan.pool.max_model_len));
    }
    for (const std::string& warning : resolved.warnings) log.warning(warning);
    plan.scheduler = resolved.scheduler;
    plan.cache.block_size = static_cast<int32_t>(config.block_size);
    plan.cache.num_gpu_blocks = static_cast<int32_t>(plan.pool.num_blocks);
    plan.cache.enable_prefix_caching = config.enable_prefix_caching;
    plan.cache.prefix_caching_hash_algo = config.prefix_caching_hash_algo;
    log.info(concat("Using max model len ", plan.scheduler.max_model_len));
    if (plan.scheduler.enable_chunked_prefill) {
        log.info(concat("Chunked prefill is enabled with max_num_batched_tokens=",
                        plan.scheduler.max_num_batched_tokens, "."));
    }
    log.info(concat("Available KV cache memory: ", gib(plan.pool.kv_bytes)));
    log.info(kv_capacity_text(KvDevice::kCpu, plan.pool));
    return plan;
}

HttpServerOptions http_options(const ServeConfig& config) {
    HttpServerOptions out;
    out.host = config.host;
    out.port = static_cast<int>(config.port);
    out.uds = config.uds;
    out.ssl_certfile = config.ssl_certfile;
    out.ssl_keyfile = config.ssl_keyfile;
    out.ssl_ca_certs = config.ssl_ca_certs;
    out.ssl_ciphers = config.ssl_ciphers;
    out.ssl_cert_reqs = static_cast<int>(config.ssl_cert_reqs);
    out.enable_ssl_refresh = config.enable_ssl_refresh;
    out.header_bytes_max = config.h11_max_incomplete_event_size;
    out.header_count_max = static_cast<int>(config.h11_max_header_count);
    out.body_bytes_max = config.max_body_bytes;
    out.connections_max = static_cast<int>(config.max_connections);
    const int32_t seconds = environment_int("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", 5);
    out.keep_alive_timeout = std::chrono::milliseconds(int64_t{seconds} * 1000);
    return out;
}

Result<ApiOptions> api_options(const LoadedConfig& loaded, const NodePlan& plan) {
    const ServeConfig& config = loaded.config;
    ApiOptions out;
    out.version = WEIR_VERSION;
    out.system_fingerprint = "weir-" WEIR_VERSION;
    out.served_model_names = config.served_model_name;
    if (out.served_model_names.empty()) {
        out.served_model_names = {config.model.empty() ? "SmolLM2-135M-Instruct" : config.model};
    }
    out.model_root = plan.model;
    out.skip_model_name_validation =
        environment_or("VLLM_SKIP_MODEL_NAME_VALIDATION", "0") == "1";
    out.max_model_len = plan.scheduler.max_model_len;
    out.max_logprobs = config.max_logprobs;
    out.eos_token_id = plan.tokenizer.spec.eos;
    for (const TokenId id : plan.tokenizer.stop_ids) {
        if (id != out.eos_token_id) out.extra_eos_ids.push_back(id);
    }
    TRY(out.generation, generation_defaults(config));
    out.limits.max_stop_strings = environment_int("VLLM_MAX_STOP_STRINGS", 4);
    out.limits.max_n_sequences = environment_int("VLLM_MAX_N_SEQUENCES", 16384);
    out.limits.max_completion_prompts = environment_int("VLLM_MAX_COMPLETION_PROMPTS", 1024);
    out.limits.max_num_bad_words = environment_int("VLLM_MAX_NUM_BAD_WORDS", 128);
    out.api_keys = config.api_key;
    out.root_path = config.root_path;
    out.allowed_origins = strings_of(config.allowed_origins);
    out.allowed_methods = strings_of(config.allowed_methods);
    out.allowed_headers = strings_of(config.allowed_headers);
    out.allow_credentials = config.allow_credentials;
    out.enable_request_id_headers = config.enable_request_id_headers;
    out.enable_prompt_tokens_details = config.enable_prompt_tokens_details;
    out.enable_force_include_usage = config.enable_force_include_usage;
    out.enable_server_load_tracking = config.enable_server_load_tracking;
    out.enable_per_request_metrics = config.enable_per_request_metrics;
    out.enable_request_timings = config.enable_request_timings;
    out.return_tokens_as_token_ids = config.return_tokens_as_token_ids;
    out.sse_keep_alive_interval = config.sse_keep_alive_interval;
    out.stream_interval = plan.scheduler.stream_interval;
    out.response_role = config.response_role;
    out.chat_template_content_format =
        config.chat_template_content_format == "string"   ? ContentFormat::kString
        : config.chat_template_content_format == "openai" ? ContentFormat::kOpenai
                                                          : ContentFormat::kAuto;
    out.trust_request_chat_template = config.trust_request_chat_template;
    out.default_chat_template_kwargs = config.default_chat_template_kwargs;
    const auto token_text = [&](TokenId id) {
        return id == kNoToken ? std::string()
                              : plan.tokenizer.spec.tokens[static_cast<size_t>(id)];
    };
    out.bos_token = token_text(plan.tokenizer.spec.bos);
    out.eos_token = token_text(plan.tokenizer.spec.eos);
    out.dev_mode = environment_or("VLLM_SERVER_DEV_MODE", "0") == "1";
    out.disable_fastapi_docs = config.disable_fastapi_docs;
    return out;
}

Result<MetricsOptions> metrics_options(const ServeConfig& config, const ApiOptions& api) {
    MetricsOptions out;
    out.model_name = api.served_model_names.front();
    out.max_model_len = api.max_model_len;
    out.disable_log_stats = config.disable_log_stats;
    out.created_series = config.metric_created_series;
    out.aliases = config.metric_aliases;
    if (!config.custom_histogram_buckets.is_null()) {
        TRY(out.custom_buckets, parse_custom_buckets(config.custom_histogram_buckets));
    }
    for (const RouteSpec& route : route_specs()) out.http_handlers.emplace_back(route.path);
    out.created_seconds = static_cast<double>(wall_us()) * 1e-6;
    return out;
}

CacheConfigFacts cache_facts(const LoadedConfig& loaded, const NodePlan& plan) {
    CacheConfigFacts out;
    out.block_size = plan.cache.block_size;
    out.user_specified_block_size = loaded.source_of("block-size") != FlagSource::kDefault;
    out.cache_dtype = loaded.config.kv_cache_dtype;
    out.enable_prefix_caching = plan.cache.enable_prefix_caching;
    out.prefix_caching_hash_algo = plan.cache.prefix_caching_hash_algo;
    out.gpu_memory_utilization = loaded.config.gpu_memory_utilization.value_or(0.92);
    out.kv_cache_memory_bytes = loaded.config.kv_cache_memory_bytes;
    out.num_gpu_blocks = plan.pool.num_blocks;
    out.num_gpu_blocks_override = loaded.config.num_gpu_blocks_override;
    out.kv_cache_size_tokens = plan.pool.num_tokens;
    out.kv_cache_max_concurrency = plan.pool.max_concurrency;
    return out;
}

Result<std::unique_ptr<ChatTemplate>> load_chat_template(const ServeConfig& config,
                                                         const NodePlan& plan) {
    std::string source = plan.tokenizer.chat_template;
    if (!config.chat_template.empty()) {
        const Result<std::string> file = read_file(config.chat_template);
        source = file ? *file : config.chat_template;  // Else the text itself (reference 5.7).
        if (!file && config.chat_template.find_first_of("{\n") == std::string::npos) {
            return fail(ErrorCode::kFileNotFound,
                        concat("--chat-template ", config.chat_template,
                               ": no such file, and it does not look like a template"));
        }
    }
    if (source.empty()) return std::unique_ptr<ChatTemplate>();
    return parse_chat_template(std::move(source));
}

}  // namespace weir
