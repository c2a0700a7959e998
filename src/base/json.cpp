#include "base/json.h"

#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/text.h"

namespace weir {

Json::Json() : value_(nullptr) {}
Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(static_cast<int64_t>(value)) {}
Json::Json(int64_t value) : value_(value) {}
Json::Json(uint64_t value) {
    if (value <= INT64_MAX) {
        value_ = static_cast<int64_t>(value);
    } else {
        value_ = static_cast<double>(value);
    }
}
Json::Json(double value) : value_(value) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(Array value) : value_(std::move(value)) {}
Json::Json(Object value) : value_(std::move(value)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::object(std::initializer_list<JsonMember> members) { return Json(Object(members)); }
Json Json::object() { return Json(Object{}); }
Json Json::array(std::initializer_list<Json> items) { return Json(Array(items)); }
Json Json::array() { return Json(Array{}); }

bool Json::as_bool() const {
    CHECK(is_bool());
    return std::get<bool>(value_);
}
int64_t Json::as_int() const {
    CHECK(is_int());
    return std::get<int64_t>(value_);
}
double Json::as_double() const {
    if (is_int()) return static_cast<double>(std::get<int64_t>(value_));
    CHECK(is_double());
    return std::get<double>(value_);
}
const std::string& Json::as_string() const {
    CHECK(is_string());
    return std::get<std::string>(value_);
}
const Json::Array& Json::items() const {
    CHECK(is_array());
    return std::get<Array>(value_);
}
Json::Array& Json::items() {
    CHECK(is_array());
    return std::get<Array>(value_);
}
const Json::Object& Json::members() const {
    CHECK(is_object());
    return std::get<Object>(value_);
}
Json::Object& Json::members() {
    CHECK(is_object());
    return std::get<Object>(value_);
}

const Json* Json::find(std::string_view name) const {
    if (!is_object()) return nullptr;
    const Object& all = std::get<Object>(value_);
    for (size_t i = all.size(); i-- > 0;) {
        if (all[i].name == name) return &all[i].value;
    }
    return nullptr;
}
Json* Json::find(std::string_view name) {
    return const_cast<Json*>(static_cast<const Json*>(this)->find(name));
}
const Json& Json::operator[](std::string_view name) const {
    static const Json null;
    const Json* found = find(name);
    return found ? *found : null;
}
const Json& Json::operator[](size_t index) const {
    static const Json null;
    return is_array() && index < items().size() ? items()[index] : null;
}
void Json::set(std::string_view name, Json value) {
    if (is_null()) value_ = Object{};
    if (Json* found = find(name)) {
        *found = std::move(value);
    } else {
        members().push_back({std::string(name), std::move(value)});
    }
}
void Json::push_back(Json value) {
    if (is_null()) value_ = Array{};
    items().push_back(std::move(value));
}
size_t Json::size() const {
    if (is_array()) return items().size();
    if (is_object()) return members().size();
    return 0;
}

bool Json::operator==(const Json& other) const {
    if (is_number() && other.is_number()) {
        return is_int() && other.is_int() ? as_int() == other.as_int()
                                          : as_double() == other.as_double();
    }
    if (type() != other.type()) return false;
    if (!is_object()) return value_ == other.value_;
    if (size() != other.size()) return false;
    for (const JsonMember& member : members()) {
        const Json* found = other.find(member.name);
        if (!found || !(*found == member.value)) return false;
    }
    return true;
}
bool operator==(const JsonMember& a, const JsonMember& b) {
    return a.name == b.name && a.value == b.value;
}

void append_json_string(std::string& out, std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    out += '"';
    size_t clean = 0;  // Begin of the run that needs no escape.
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        out.append(text.substr(clean, i - clean));
        clean = i + 1;
        out += '\\';
        switch (c) {
            case '"': out += '"'; break;
            case '\\': out += '\\'; break;
            case '\n': out += 'n'; break;
            case '\r': out += 'r'; break;
            case '\t': out += 't'; break;
            case '\b': out += 'b'; break;
            case '\f': out += 'f'; break;
            default:
                out += "u00";
                out += kHex[c >> 4];
                out += kHex[c & 15];
        }
    }
    out.append(text.substr(clean));
    out += '"';
}

namespace {

void append_double(std::string& out, double value) {
    if (!std::isfinite(value)) {
        out += "null";
        return;
    }
    std::array<char, 40> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const std::string_view text(digits.data(), static_cast<size_t>(end - digits.data()));
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_newline(std::string& out, int indent, int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
}

/// indent < 0: compact.
void dump_value(std::string& out, const Json& value, int indent, int level) {
    switch (value.type()) {
        case Json::Type::kNull: out += "null"; break;
        case Json::Type::kBool: out += value.as_bool() ? "true" : "false"; break;
        case Json::Type::kInt: out += concat(value.as_int()); break;
        case Json::Type::kDouble: append_double(out, value.as_double()); break;
        case Json::Type::kString: append_json_string(out, value.as_string()); break;
        case Json::Type::kArray: {
            out += '[';
            bool first = true;
            for (const Json& item : value.items()) {
                if (!first) out += ',';
                first = false;
                append_newline(out, indent, level + 1);
                dump_value(out, item, indent, level + 1);
            }
            if (!first) append_newline(out, indent, level);
            out += ']';
            break;
        }
        case Json::Type::kObject: {
            out += '{';
            bool first = true;
            for (const JsonMember& member : value.members()) {
                if (!first) out += ',';
                first = false;
                append_newline(out, indent, level + 1);
                append_json_string(out, member.name);
                out += indent < 0 ? ":" : ": ";
                dump_value(out, member.value, indent, level + 1);
            }
            if (!first) append_newline(out, indent, level);
            out += '}';
            break;
        }
    }
}

/// Boost.JSON's SAX events to a Json. The parser itself bounds the depth and checks UTF-8.
struct Builder {
    static constexpr size_t max_object_size = SIZE_MAX;
    static constexpr size_t max_array_size = SIZE_MAX;
    static constexpr size_t max_key_size = SIZE_MAX;
    static constexpr size_t max_string_size = SIZE_MAX;
    using Error = boost::json::error_code;
    using View = boost::json::string_view;

    std::vector<Json> open;          // Containers being filled, outermost first.
    std::vector<std::string> names;  // Name of the member being read, per open object.
    std::string text;
    Json result;

    bool add(Json value) {
        if (open.empty()) {
            result = std::move(value);
        } else if (open.back().is_array()) {
            open.back().items().push_back(std::move(value));
        } else {
            open.back().members().push_back({std::move(names.back()), std::move(value)});
            names.back().clear();
        }
        return true;
    }
    bool close() {
        Json value = std::move(open.back());
        open.pop_back();
        return add(std::move(value));
    }
    bool on_document_begin(Error&) { return true; }
    bool on_document_end(Error&) { return true; }
    bool on_object_begin(Error&) {
        open.push_back(Json::object());
        names.emplace_back();
        return true;
    }
    bool on_object_end(size_t, Error&) {
        names.pop_back();
        return close();
    }
    bool on_array_begin(Error&) {
        open.push_back(Json::array());
        return true;
    }
    bool on_array_end(size_t, Error&) { return close(); }
    bool on_key_part(View part, size_t, Error&) {
        names.back().append(part.data(), part.size());
        return true;
    }
    bool on_key(View part, size_t, Error&) {
        names.back().append(part.data(), part.size());
        return true;
    }
    bool on_string_part(View part, size_t, Error&) {
        text.append(part.data(), part.size());
        return true;
    }
    bool on_string(View part, size_t, Error&) {
        text.append(part.data(), part.size());
        Json value(std::move(text));
        text.clear();
        return add(std::move(value));
    }
    bool on_number_part(View, Error&) { return true; }
    bool on_int64(int64_t value, View, Error&) { return add(Json(value)); }
    bool on_uint64(uint64_t value, View, Error&) { return add(Json(value)); }
    bool on_double(double value, View, Error&) { return add(Json(value)); }
    bool on_bool(bool value, Error&) { return add(Json(value)); }
    bool on_null(Error&) { return add(Json(nullptr)); }
    bool on_comment_part(View, Error&) { return true; }
    bool on_comment(View, Error&) { return true; }
};

}  // namespace

void Json::dump_to(std::string& out) const { dump_value(out, *this, -1, 0); }

std::string Json::dump() const {
    std::string out;
    dump_to(out);
    return out;
}

std::string Json::dump_pretty(int indent) const {
    std::string out;
    dump_value(out, *this, indent, 0);
    return out;
}

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
    if (text.size() > limits.bytes_max) {
        return fail(ErrorCode::kBadSchema, concat("JSON of ", text.size(), " bytes, at most ",
                                                  limits.bytes_max, " are allowed"));
    }
    boost::json::parse_options options;
    options.max_depth = static_cast<size_t>(limits.depth_max);
    boost::json::basic_parser<Builder> parser(options);
    boost::json::error_code error;
    const size_t used = parser.write_some(false, text.data(), text.size(), error);
    if (!error && used < text.size()) error = boost::json::error::extra_data;
    if (error) {
        return fail(ErrorCode::kBadSchema,
                    concat("JSON decode error at offset ", used, ": ", error.message()));
    }
    return std::move(parser.handler().result);
}

Result<Json> read_json_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorCode::kFileNotFound, concat("cannot open ", path));
    std::ostringstream text;
    text << file.rdbuf();
    return parse_json(text.str());
}

}  // namespace weir
