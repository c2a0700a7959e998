// The tests behind `is`.

#include <string>

#include "base/text.h"
#include "tokenizer/jinja_interp.h"
#include "tokenizer/jinja_string.h"

namespace weir::jinja {
namespace {

using V = Value;
using B = Result<bool>;

/// A test without arguments.
template <bool (*holds)(const V&)>
B plain(Interp&, const V& self, const Args& args) {
    if (!args.positional.empty() || !args.named.empty()) return bad("the test takes no argument");
    return holds(self);
}

template <Op op>
B comparison(Interp& in, const V& self, const Args& args) {
    if (args.positional.size() != 1) return bad("the test takes one argument");
    return in.compare(op, self, args.positional[0]);
}

template <int rest>
B parity(Interp& in, const V& self, const Args&) {
    TRY(const V value, in.binary(Op::kMod, self, V::integer(2)));
    return value.is_number() && value.as_float() == rest;
}

B divisible(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("divisibleby", "num", args));
    TRY(const V value, in.binary(Op::kMod, self, *bound[0]));
    return value.is_number() && value.as_float() == 0;
}

B same_as(Interp&, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("sameas", "other", args));
    return self.same(*bound[0]);
}

B is_filter(Interp&, const V& self, const Args&) {
    return self.is_text() && find_filter(self.view()) != nullptr;
}
B is_test(Interp&, const V& self, const Args&) {
    return self.is_text() && find_test(self.view()) != nullptr;
}

/// str(value).isupper() or islower().
template <bool upper>
B is_case(Interp& in, const V& self, const Args&) {
    TRY(const Text text, in.str(self));
    in.meter().spend_bytes(text.size() * 8);
    return all_case(text.view(), upper);
}

bool defined(const V& v) { return !v.is_undefined(); }
bool undefined(const V& v) { return v.is_undefined(); }
bool none(const V& v) { return v.is_none(); }
bool text(const V& v) { return v.is_text(); }
bool mapping(const V& v) { return v.is_dict(); }
bool boolean(const V& v) { return v.is_bool(); }
bool is_true(const V& v) { return v.is_bool() && v.as_bool(); }
bool is_false(const V& v) { return v.is_bool() && !v.as_bool(); }
bool integer(const V& v) { return v.is_int(); }
bool real(const V& v) { return v.is_float(); }
bool number(const V& v) { return v.is_number(); }
bool escaped(const V&) { return false; }
bool iterable(const V& v) {
    const bool walkable = v.is_object() && (v.object()->type == Object::Type::kIterator ||
                                            v.object()->type == Object::Type::kLoop);
    return v.is_undefined() || v.is_text() || v.is_list() || v.is_dict() || walkable;
}
/// What has a length and items; jinja2 counts its Undefined in.
bool sequence(const V& v) {
    if (v.is_list()) return v.list()->is_sequence();
    return v.is_text() || v.is_dict() || v.is_undefined();
}
bool callable(const V& v) {
    if (v.is_undefined()) return true;  // It has a __call__, which raises.
    if (!v.is_object()) return false;
    const Object::Type type = v.object()->type;
    return type == Object::Type::kMacro || type == Object::Type::kMethod ||
           type == Object::Type::kFunction || type == Object::Type::kJoiner ||
           type == Object::Type::kLoop;
}

struct Test {
    std::string_view name;
    TestFunction function;
};

constexpr Test kTests[] = {{"defined", plain<defined>},
                           {"undefined", plain<undefined>},
                           {"none", plain<none>},
                           {"string", plain<text>},
                           {"mapping", plain<mapping>},
                           {"iterable", plain<iterable>},
                           {"sequence", plain<sequence>},
                           {"number", plain<number>},
                           {"integer", plain<integer>},
                           {"float", plain<real>},
                           {"boolean", plain<boolean>},
                           {"true", plain<is_true>},
                           {"false", plain<is_false>},
                           {"callable", plain<callable>},
                           {"escaped", plain<escaped>},
                           {"odd", parity<1>},
                           {"even", parity<0>},
                           {"divisibleby", divisible},
                           {"sameas", same_as},
                           {"upper", is_case<true>},
                           {"lower", is_case<false>},
                           {"filter", is_filter},
                           {"test", is_test},
                           {"in", comparison<Op::kIn>},
                           {"==", comparison<Op::kEq>},
                           {"eq", comparison<Op::kEq>},
                           {"equalto", comparison<Op::kEq>},
                           {"!=", comparison<Op::kNe>},
                           {"ne", comparison<Op::kNe>},
                           {"<", comparison<Op::kLt>},
                           {"lt", comparison<Op::kLt>},
                           {"lessthan", comparison<Op::kLt>},
                           {"<=", comparison<Op::kLe>},
                           {"le", comparison<Op::kLe>},
                           {">", comparison<Op::kGt>},
                           {"gt", comparison<Op::kGt>},
                           {"greaterthan", comparison<Op::kGt>},
                           {">=", comparison<Op::kGe>},
                           {"ge", comparison<Op::kGe>}};

}  // namespace

TestFunction find_test(std::string_view name) {
    for (const Test& test : kTests) {
        if (test.name == name) return test.function;
    }
    return nullptr;
}

}  // namespace weir::jinja
