#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

enum class FlagKind {
    kBool,      // --x and --no-x; also --x true|false through =.
    kSwitch,    // --x only.
    kInt,       // Decimal integer, or None where the default is None.
    kHumanInt,  // 25.6k = 25600, 8K = 8192 (reference 4.1), or None.
    kFloat,
    kString,
    kChoice,  // One of `bounds`, separated by "|".
    kList,    // One or more values.
    kJson,    // JSON text, or dotted keys: --x.a.b 3.
};

enum class FlagStatus {
    kImplemented,
    kNoEffect,  // Known to vLLM, harmless here: accepted with one line.
    kRefused,   // Would change answers and is not built: refused unless the value is the default.
    kRemoved,   // Gone from vLLM: accepted with one line that says what became of it.
};

/// One command line flag; the rows are in flags.def and flags_other.def.
struct FlagSpec {
    std::string name;  // "max-num-seqs".
    FlagKind kind;
    std::string_view default_text;  // As a user would write it; "None" for null.
    std::string_view aliases;       // "-tp --device-memory-utilization", separated by blanks.
    std::string_view group;
    FlagStatus status;
    std::string_view bounds;  // "1..", "0..1", "(0..1" (exclusive low end), or choices "a|b".
    std::string_view help;    // For kNoEffect, kRefused and kRemoved: why, or what became of it.
};

/// All flags of `weir serve`, in the order of the tables.
const std::vector<FlagSpec>& serve_flags();

/// "--max-num-seqs" for messages.
inline std::string dashed(const FlagSpec& flag) { return "--" + flag.name; }

/// Human-readable integers of reference 4.1: k m g t = 10^3n with decimals, K M G T = 2^10n
/// integers only.
Result<int64_t> parse_human_int(std::string_view text);

/// Fails with kBadFlag unless `text` is a legal value of `flag` (kind and bounds).
Result<void> check_flag_value(const FlagSpec& flag, std::string_view text);

}  // namespace weir
