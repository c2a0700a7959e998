#include "sched/request_state.h"

#include <algorithm>

#include "base/check.h"
#include "kv/planted_bug.h"

namespace weir {

FinishCheck check_finish(const RequestState& request, int32_t max_model_len) {
    CHECK(request.num_output_tokens() > 0);
    const TokenId token = request.token_ids.back();
    const SamplingParams& params = request.params;
    if (token == request.eos_token_id && !params.ignore_eos) return {FinishReason::kStop, {}};
    const std::vector<TokenId>& stops = params.stop_token_ids;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
        return {FinishReason::kStop, token};
    }
    const int32_t max_tokens = params.max_tokens + (PLANTED(kLengthOffByOne) ? 1 : 0);
    if (request.num_tokens() >= max_model_len || request.num_output_tokens() >= max_tokens) {
        return {FinishReason::kLength, {}};
    }
    return {};  // min_tokens acts in the sampler: below it, neither EOS nor a stop id can come.
}

}  // namespace weir
