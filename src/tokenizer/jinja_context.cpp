#include "tokenizer/jinja_context.h"

#include "base/text.h"

namespace weir::jinja {
namespace {

/// The value of outside data; interp.list() and dict() refuse what is nested too deep, `level`
/// stops before the recursion gets there.
Result<Value> value_of(Interp& interp, const Json& json, bool trusted, int level) {
    if (level > kValueDepthMax) {
        return bad(concat("a value is nested deeper than ", kValueDepthMax, " levels"));
    }
    switch (json.type()) {
        case Json::Type::kNull: return Value();
        case Json::Type::kBool: return Value::boolean(json.as_bool(), !trusted);
        case Json::Type::kInt: return Value::integer(json.as_int(), !trusted);
        case Json::Type::kDouble: return Value::real(json.as_double(), !trusted);
        case Json::Type::kString: return interp.text(json.as_string(), trusted);
        case Json::Type::kArray: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const Json& item : json.items()) {
                TRY(Value value, value_of(interp, item, trusted, level + 1));
                items.push_back(std::move(value));
            }
            return interp.list(std::move(items));
        }
        case Json::Type::kObject: break;
    }
    std::vector<std::pair<Value, Value>> items;
    items.reserve(json.size());
    for (const JsonMember& member : json.members()) {
        TRY(Value key, interp.text(member.name, trusted));
        TRY(Value value, value_of(interp, member.value, trusted, level + 1));
        items.emplace_back(std::move(key), std::move(value));
    }
    return interp.dict(std::move(items), !trusted);
}

}  // namespace

Result<Text> render(const Template& source, const Limits& limits, Now now,
                    std::span<const ContextEntry> context) {
    Interp interp(source, limits, std::move(now));
    std::vector<std::pair<std::string_view, Value>> names;
    for (const ContextEntry& entry : context) {
        TRY(Value value, value_of(interp, *entry.value, entry.trusted, 1));
        std::erase_if(names, [&entry](const auto& other) { return other.first == entry.name; });
        names.emplace_back(entry.name, std::move(value));
    }
    return interp.run(std::move(names));
}

}  // namespace weir::jinja
