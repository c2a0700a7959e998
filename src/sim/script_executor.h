#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "sampling/params.h"

namespace weir {

constexpr TokenId kScriptVocabSize = 64;

/// What a request's tokens follow from, beside its prompt.
struct ScriptFacts {
    uint64_t salt = 0;  // Of its cache_salt: stands for what may not be shared.
    uint64_t sampling_seed = 0;
};

/// An executor without a model. A row's "key and value" is a number that follows from its token and
/// from the number before it, as the block table finds that one; a sampled token follows from all
/// numbers of the sequence and from the state kept for its slot. So a wrong block, a block that was
/// overwritten, shared across salts or never computed, or a slot that was not reset, changes the
/// text. Also checks what is wrong whatever the text: `violation()`.
class ScriptExecutor : public Executor {
   public:
    ScriptExecutor(int32_t num_blocks, int32_t block_size, int32_t max_num_seqs);

    /// Before the request's first step. Ids are small numbers.
    void set_facts(RequestId id, const ScriptFacts& facts);
    /// The next execute() fails, as a device would.
    void fail_next() { fail_next_ = true; }

    Result<void> execute(const SchedulerOutput& step, ExecutorOutput& output) override;

    /// The first thing that was wrong, or empty.
    const std::string& violation() const { return violation_; }
    /// Hash of everything that was asked of it.
    uint64_t trace() const { return trace_; }
    /// The last step, copied: the scheduler's own is gone after it.
    struct Scheduled {
        RequestId id = 0;
        int32_t num_computed_tokens = 0;
        int32_t num_scheduled_tokens = 0;
        int32_t num_tokens = 0;
        bool is_new_in_slot = false;
    };
    std::span<const Scheduled> last_step() const { return last_step_; }
    void forget_last_step() { last_step_.clear(); }

   private:
    struct Slot {
        RequestId id = 0;
        int32_t num_tokens_seen = 0;
        uint64_t digest = 0;  // Of the output tokens, as penalties would count them.
    };
    size_t cell(const ScheduledRequest& request, int32_t position) const;
    void write_rows(const ScheduledRequest& request);
    TokenId sample(const ScheduledRequest& request);
    void follow_slot(const ScheduledRequest& request);
    void add_prompt_logprobs(const ScheduledRequest& request, int32_t index,
                             ExecutorOutput& output) const;
    void complain(const ScheduledRequest& request, const char* what);

    int32_t block_size_;
    std::vector<uint64_t> cells_;         // [num_blocks * block_size]
    std::vector<int64_t> written_steps_;  // Of each cell.
    std::vector<Slot> slots_;             // [max_num_seqs]
    std::vector<ScriptFacts> facts_;      // By id.
    std::vector<Scheduled> last_step_;
    int64_t step_ = 0;
    uint64_t trace_ = 0;
    bool fail_next_ = false;
    std::string violation_;
};

/// The output of a request that is alone in the world; a pure function.
struct ScriptText {
    std::vector<TokenId> token_ids;
    const char* finish_reason = "";
};
ScriptText script_text(std::span<const TokenId> prompt, const SamplingParams& params,
                       TokenId eos_token_id, int32_t max_model_len, const ScriptFacts& facts);

}  // namespace weir
