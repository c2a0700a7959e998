#include "config/flag_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/text.h"

namespace weir {

namespace {

std::string name_of_field(std::string_view field) {
    std::string name(field);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::vector<FlagSpec> build_flags() {
    std::vector<FlagSpec> flags;
#define WEIR_FLAG(field, type, kind, default_text, aliases, group, bounds, help)          \
    flags.push_back({name_of_field(#field), FlagKind::kind, default_text, aliases, group, \
                     FlagStatus::kImplemented, bounds, help});
#include "config/flags.def"
#define WEIR_OTHER_FLAG(name, kind, default_text, aliases, status, why) \
    flags.push_back(                                                    \
        {name, FlagKind::kind, default_text, aliases, "vLLM only", FlagStatus::status, "", why});
#include "config/flags_other.def"
    return flags;
}

bool is_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return '0' <= c && c <= '9'; });
}

Result<int64_t> parse_plain_int(std::string_view text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) {
        return fail(ErrorCode::kBadFlag, concat("'", shorten(text, 40), "' does not fit 64 bits"));
    }
    if (error != std::errc() || end != text.data() + text.size()) {
        return fail(ErrorCode::kBadFlag, concat("'", shorten(text, 40), "' is not an integer"));
    }
    return value;
}

Result<double> parse_float(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
        return fail(ErrorCode::kBadFlag, concat("'", shorten(text, 40), "' is not a number"));
    }
    return value;
}

/// "1..", "0..1", "(0..1" (above 0), "0..)1" (below 1).
Result<void> check_bounds(std::string_view bounds, double value) {
    const size_t dots = bounds.find("..");
    if (dots == std::string_view::npos) return {};
    std::string_view low = bounds.substr(0, dots), high = bounds.substr(dots + 2);
    const bool low_open = low.starts_with('('), high_open = high.starts_with(')');
    if (low_open) low.remove_prefix(1);
    if (high_open) high.remove_prefix(1);
    const double low_value = parse_float(low).value_or(-HUGE_VAL);
    const double high_value = parse_float(high).value_or(HUGE_VAL);
    if (low_open ? value <= low_value : value < low_value) {
        return fail(ErrorCode::kBadFlag,
                    concat("must be ", low_open ? "above " : "at least ", low));
    }
    if (high_open ? value >= high_value : value > high_value) {
        return fail(ErrorCode::kBadFlag,
                    concat("must be ", high_open ? "below " : "at most ", high));
    }
    return {};
}

}  // namespace

const std::vector<FlagSpec>& serve_flags() {
    static const std::vector<FlagSpec> flags = build_flags();
    return flags;
}

Result<int64_t> parse_human_int(std::string_view text) {
    if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.back()))) {
        return parse_plain_int(text);
    }
    const char unit = text.back();
    const std::string_view digits = text.substr(0, text.size() - 1);
    constexpr std::string_view kUnits = "kmgtKMGT";
    const size_t index = kUnits.find(unit);
    if (index == std::string_view::npos) {
        return fail(ErrorCode::kBadFlag, concat("'", shorten(text, 40), "' has an unknown unit '",
                                                unit, "': use k m g t (1000) or K M G T (1024)"));
    }
    const int power = static_cast<int>(index % 4) + 1;
    const bool binary = index >= 4;
    if (binary && !is_digits(digits)) {
        return fail(ErrorCode::kBadFlag,
                    concat("'", shorten(text, 40), "': ", unit, " takes whole numbers, ",
                           to_lower(std::string(1, unit)), " takes decimals"));
    }
    const Result<double> number = parse_float(digits);
    if (!number)
        return fail(ErrorCode::kBadFlag, concat("'", shorten(text, 40), "' is not a number"));
    const double value = *number * std::pow(binary ? 1024.0 : 1000.0, power);
    if (std::abs(value) > 9e18) {
        return fail(ErrorCode::kBadFlag, concat("'", shorten(text, 40), "' is too large"));
    }
    return static_cast<int64_t>(std::llround(value));
}

Result<void> check_flag_value(const FlagSpec& flag, std::string_view text) {
    if (text == "None" || (text.empty() && flag.default_text == "None")) return {};
    switch (flag.kind) {
        case FlagKind::kBool:
        case FlagKind::kSwitch:
            if (text != "true" && text != "false") {
                return fail(ErrorCode::kBadFlag,
                            concat("'", shorten(text, 40), "' is not true or false"));
            }
            return {};
        case FlagKind::kInt: {
            TRY(const int64_t value, parse_plain_int(text));
            return check_bounds(flag.bounds, static_cast<double>(value));
        }
        case FlagKind::kHumanInt: {
            if (flag.name == "max-model-len" && text == "auto") return {};
            TRY(const int64_t value, parse_human_int(text));
            if (flag.name == "max-model-len" && value == 0) {
                return fail(ErrorCode::kBadFlag, "must be at least 1, or -1 for auto");
            }
            return check_bounds(flag.bounds, static_cast<double>(value));
        }
        case FlagKind::kFloat: {
            TRY(const double value, parse_float(text));
            return check_bounds(flag.bounds, value);
        }
        case FlagKind::kChoice: {
            std::string known;
            for (const std::string_view choice : split(flag.bounds, '|')) {
                if (choice == text) return {};
                known += concat(known.empty() ? "" : ", ", choice);
            }
            return fail(ErrorCode::kBadFlag, concat("invalid choice '", shorten(text, 40),
                                                    "' (choose from ", known, ")"));
        }
        case FlagKind::kJson: {
            const Result<Json> value = parse_json(text);
            if (!value) return fail(ErrorCode::kBadFlag, value.error().text);
            return {};
        }
        case FlagKind::kString:
        case FlagKind::kList: return {};
    }
    return {};
}

}  // namespace weir
