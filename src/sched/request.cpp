#include "sched/request.h"

#include "base/check.h"

namespace weir {

const char* to_string(FinishReason reason) {
    switch (reason) {
        case FinishReason::kNone: return "";
        case FinishReason::kStop: return "stop";
        case FinishReason::kLength: return "length";
        case FinishReason::kAbort: return "abort";
        case FinishReason::kError: return "error";
        case FinishReason::kRepetition: return "repetition";
    }
    CHECK(false);
}

}  // namespace weir
