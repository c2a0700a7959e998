#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace weir {

struct JsonMember;

/// A JSON value. Objects keep the order of their members (answers are compared as text by some
/// clients); look-up is linear, which is fast for the small objects of requests. A number written
/// as an integer that fits int64 is kInt, every other number is kDouble. Strings are UTF-8.
class Json {
 public:
    enum class Type { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
    using Array = std::vector<Json>;
    using Object = std::vector<JsonMember>;

    Json();
    Json(std::nullptr_t);
    Json(bool value);
    Json(int value);
    Json(int64_t value);
    Json(uint64_t value);
    Json(double value);
    Json(const char* value);
    Json(std::string_view value);
    Json(std::string value);
    Json(Array value);
    Json(Object value);
    Json(const Json& other);
    Json(Json&& other) noexcept;
    Json& operator=(const Json& other);
    Json& operator=(Json&& other) noexcept;
    ~Json();

    /// Json::object({{"a", 1}, {"b", nullptr}}), Json::array({1, 2}).
    static Json object(std::initializer_list<JsonMember> members);
    static Json object();
    static Json array(std::initializer_list<Json> items);
    static Json array();

    Type type() const { return static_cast<Type>(value_.index()); }
    bool is_null() const { return type() == Type::kNull; }
    bool is_bool() const { return type() == Type::kBool; }
    bool is_int() const { return type() == Type::kInt; }
    bool is_double() const { return type() == Type::kDouble; }
    bool is_number() const { return is_int() || is_double(); }
    bool is_string() const { return type() == Type::kString; }
    bool is_array() const { return type() == Type::kArray; }
    bool is_object() const { return type() == Type::kObject; }

    /// CHECK that the type is right.
    bool as_bool() const;
    int64_t as_int() const;
    double as_double() const;  // Takes kInt as well.
    const std::string& as_string() const;
    const Array& items() const;
    Array& items();
    const Object& members() const;
    Object& members();

    /// The member of that name (the last one, if repeated), or null if absent or not an object.
    const Json* find(std::string_view name) const;
    Json* find(std::string_view name);
    /// find(), or a null value: for chains in tests.
    const Json& operator[](std::string_view name) const;
    const Json& operator[](size_t index) const;
    /// Sets or replaces a member; a null value becomes an object first.
    void set(std::string_view name, Json value);
    void push_back(Json value);
    size_t size() const;  // Of an array or object; 0 for others.

    /// Compact ("," and ":"), non-ASCII kept, shortest digits; doubles always with point or
    /// exponent; NaN and infinities become null (JSON has none).
    std::string dump() const;
    void dump_to(std::string& out) const;
    /// With newlines and `indent` blanks a level.
    std::string dump_pretty(int indent) const;

    bool operator==(const Json& other) const;  // Member order does not matter; 1 == 1.0.

 private:
    std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value_;
};

struct JsonMember {
    std::string name;
    Json value;
};

/// Bounds for input from outside; checked before anything is built recursively.
struct JsonLimits {
    int depth_max = 128;
    size_t bytes_max = size_t{256} << 20;
};

/// Fails with kBadSchema and "offset N: what" (RFC 8259; no comments, no trailing commas, no NaN,
/// valid UTF-8 only).
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// Appends `text` as a JSON string with quotes.
void append_json_string(std::string& out, std::string_view text);

/// Reads and parses a whole file; for tests and tools.
Result<Json> read_json_file(const std::string& path);

}  // namespace weir
