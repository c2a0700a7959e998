#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/options.h"
#include "base/json.h"
#include "base/result.h"

namespace weir {

enum class FieldType {
    kBool,
    kInt,
    kFloat,
    kString,
    kStrings,  // One string, or a list of strings; normalised to a list.
    kTokens,   // List of integers.
    kObject,
    kArray,
    kPrompt,  // String, list of strings, list of ids, or list of id lists.
    kAny,
};

enum class FieldUse { kUsed, kIgnored, kWarned, kLater };

/// Routes as bits: a field may belong to several.
struct FieldRoute {
    static constexpr unsigned kC = 1;  // /v1/completions
    static constexpr unsigned kX = 2;  // /v1/chat/completions
    static constexpr unsigned kT = 4;  // /tokenize
    static constexpr unsigned kD = 8;  // /detokenize
};

/// One row of fields.def.
struct FieldSpec {
    std::string_view name;
    FieldType type;
    unsigned routes;
    std::string_view default_text;
    std::string_view range;
    FieldUse use;
    std::string_view doc;
};

std::span<const FieldSpec> field_specs();
const FieldSpec* find_field(std::string_view name, unsigned route);

/// One reason why a body does not fit its schema.
struct SchemaProblem {
    std::string where;  // "body.seed"
    std::string what;   // "Input should be a valid integer"
    std::string input;  // Shortened; empty: not shown.
};

/// kBadSchema with at most 10 of the problems; param is the first one's place. CHECKs that there is
/// one.
Error schema_error(const std::vector<SchemaProblem>& problems);

/// "'abc'", "None", "<list of 5 items>": a value as vLLM's schema errors show it.
std::string show_input(const Json& value);

/// Checks the types of all known fields of `body` and makes them exact, as pydantic's lax mode
/// does: a number in a string becomes a number, null members are dropped (null means the default).
/// Appends the names of kWarned fields to `warned`. Fails with kBadSchema, or with kNotImplemented
/// for a kLater field.
Result<void> check_fields(Json& body, unsigned route, const ApiLimits& limits,
                          std::vector<std::string_view>& warned);

// Reading a body that check_fields() has passed.
bool bool_field(const Json& body, std::string_view name, bool absent);
std::optional<int64_t> int_field(const Json& body, std::string_view name);
std::optional<double> float_field(const Json& body, std::string_view name);
const std::string* string_field(const Json& body, std::string_view name);

}  // namespace weir
