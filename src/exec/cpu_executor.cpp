#include "exec/cpu_executor.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "layers/transformer.h"

namespace weir {

namespace {

/// What the logits of one row are for.
struct LogitUse {
    int32_t request = 0;
    int32_t row = 0;
    bool sample = false;
    TokenId described = kNoToken;  // The prompt token whose log-probability the row gives.
    int32_t position = 0;          // Of that token.
};

class CpuExecutor final : public Executor {
 public:
    CpuExecutor(const CpuExecutorOptions& options, int32_t vocab_size)
        : pool_({.num_threads = options.num_threads, .cpus = {}}),
          sampler_(vocab_size, options.scheduler.max_num_seqs, options.logprobs_mode),
          vocab_size_(vocab_size) {
        const auto rows = static_cast<size_t>(options.scheduler.max_num_batched_tokens);
        const auto seqs = static_cast<size_t>(options.scheduler.max_num_seqs);
        token_ids_.reserve(rows);
        sequences_.reserve(seqs);
        uses_.reserve(seqs);
        rows_.reserve(static_cast<size_t>(Transformer::kLogitRowsMax));
    }

    Result<void> load(std::shared_ptr<ModelFiles> files, const CpuExecutorOptions& options) {
        const ModelConfig config = files->config();
        TRY(ModelWeights weights, load_weights(std::move(files), *options.kernels, pool_));
        TRY(cache_, KvCache::make(config, options.cache.block_size, options.cache.num_gpu_blocks));
        TRY(transformer_, Transformer::make(config, std::move(weights), *options.kernels, pool_,
                                            cache_, options.scheduler.max_num_batched_tokens));
        warm_up();
        return {};
    }

    Result<void> execute(const SchedulerOutput& step, ExecutorOutput& output) override {
        output.clear();
        output.sampled.resize(step.requests.size());
        gather(step);
        transformer_->forward({token_ids_, sequences_});
        for (size_t begin = 0; begin < uses_.size();) {
            const size_t end =
                std::min(uses_.size(), begin + static_cast<size_t>(Transformer::kLogitRowsMax));
            rows_.clear();
            for (size_t i = begin; i < end; ++i) rows_.push_back(uses_[i].row);
            float* logits = transformer_->logits(rows_);
            for (size_t i = begin; i < end; ++i, logits += vocab_size_) {
                use_logits(step, uses_[i], logits, output);
            }
            begin = end;
        }
        return {};
    }

 private:
    void gather(const SchedulerOutput& step) {
        token_ids_.clear();
        sequences_.clear();
        uses_.clear();
        for (size_t i = 0; i < step.requests.size(); ++i) {
            const ScheduledRequest& r = step.requests[i];
            const auto row_begin = static_cast<int32_t>(token_ids_.size());
            const auto first = static_cast<size_t>(r.num_computed_tokens);
            const auto count = static_cast<size_t>(r.num_scheduled_tokens);
            CHECK(first + count <= r.token_ids.size());
            const auto tokens = r.token_ids.subspan(first, count);
            token_ids_.insert(token_ids_.end(), tokens.begin(), tokens.end());
            sequences_.push_back({row_begin, r.num_scheduled_tokens, r.num_computed_tokens,
                                  r.block_ids.data()});
            const auto request = static_cast<int32_t>(i);
            if (r.params->prompt_logprobs) {
                const int32_t end = std::min(r.num_computed_tokens + r.num_scheduled_tokens,
                                             r.num_prompt_tokens - 1);
                for (int32_t p = r.num_computed_tokens; p < end; ++p) {
                    uses_.push_back({request, row_begin + p - r.num_computed_tokens, false,
                                     r.token_ids[static_cast<size_t>(p) + 1], p + 1});
                }
            }
            if (r.samples) {
                uses_.push_back({request, row_begin + r.num_scheduled_tokens - 1, true, kNoToken, 0});
            }
        }
    }

    void use_logits(const SchedulerOutput& step, const LogitUse& use, float* logits,
                    ExecutorOutput& output) {
        const std::span<float> row(logits, static_cast<size_t>(vocab_size_));
        const ScheduledRequest& r = step.requests[static_cast<size_t>(use.request)];
        if (!use.sample) {
            const LogprobRange range =
                sampler_.describe(row, use.described, *r.params->prompt_logprobs, output.logprobs);
            output.prompt_logprobs.push_back({use.request, use.position, range});
            return;
        }
        const SamplingInput input{.slot = r.slot,
                                  .is_new_in_slot = r.is_new_in_slot,
                                  .params = r.params,
                                  .token_ids = r.token_ids,
                                  .num_prompt_tokens = r.num_prompt_tokens,
                                  .eos_token_id = r.eos_token_id,
                                  .sampling_seed = r.sampling_seed};
        output.sampled[static_cast<size_t>(use.request)] =
            sampler_.sample(row, input, output.logprobs);
    }

    /// One row through everything, into the null block: touches weights and buffers.
    void warm_up() {
        const TokenId token = 0;
        const BlockId block = 0;
        const ForwardSequence sequence{0, 1, 0, &block};
        transformer_->forward({{&token, 1}, {&sequence, 1}});
        const int32_t row = 0;
        transformer_->logits({&row, 1});
    }

    ForkJoin pool_;
    Sampler sampler_;
    const int32_t vocab_size_;
    KvCache cache_;
    std::unique_ptr<Transformer> transformer_;
    std::vector<TokenId> token_ids_;
    std::vector<ForwardSequence> sequences_;
    std::vector<LogitUse> uses_;
    std::vector<int32_t> rows_;
};

}  // namespace

Result<CpuMemoryNeed> cpu_memory_need(const ModelFiles& files, const KernelTable& kernels,
                                      int32_t max_num_batched_tokens, int32_t block_size) {
    CpuMemoryNeed need;
    TRY(need.weight_bytes, packed_weight_bytes(files, kernels.panel_width));
    need.activation_bytes = Transformer::activation_bytes(files.config(), max_num_batched_tokens);
    need.block_bytes = KvCache::block_bytes(files.config(), block_size);
    return need;
}

Result<std::unique_ptr<Executor>> make_cpu_executor(std::shared_ptr<ModelFiles> files,
                                                    const CpuExecutorOptions& options) {
    CHECK(options.kernels != nullptr);
    auto executor = std::make_unique<CpuExecutor>(options, files->config().vocab_size);
    TRY_VOID(executor->load(std::move(files), options));
    return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace weir
