// Interp's operators, with Python's semantics.

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "tokenizer/jinja_format.h"
#include "tokenizer/jinja_interp.h"

namespace weir::jinja {
namespace {

std::string_view op_text(Op op) {
    switch (op) {
        case Op::kAdd: return "+";
        case Op::kSub: return "-";
        case Op::kMul: return "*";
        case Op::kDiv: return "/";
        case Op::kFloorDiv: return "//";
        case Op::kMod: return "%";
        case Op::kPow: return "** or pow()";
        case Op::kEq: return "==";
        case Op::kNe: return "!=";
        case Op::kLt: return "<";
        case Op::kLe: return "<=";
        case Op::kGt: return ">";
        case Op::kGe: return ">=";
        case Op::kIn: return "in";
        case Op::kNotIn: return "not in";
    }
    return "?";
}

tl::unexpected<Error> unsupported(Op op, const Value& left, const Value& right) {
    return bad(concat("unsupported operand type(s) for ", op_text(op), ": '", type_name(left),
                      "' and '", type_name(right), "'"));
}

tl::unexpected<Error> too_large() { return bad("an integer grows beyond 128 bits"); }

/// base ** exponent for exponent >= 0.
Result<Int> power(Int base, Int exponent) {
    if (base == 0 || base == 1) return exponent == 0 ? Int{1} : base;
    if (base == -1) return exponent % 2 == 0 ? Int{1} : Int{-1};
    if (exponent > 127) return too_large();
    Int result = 1;
    for (Int i = 0; i < exponent; ++i) {
        if (__builtin_mul_overflow(result, base, &result)) return too_large();
    }
    return result;
}

Result<Value> integer_binary(Op op, Int a, Int b, bool untrusted) {
    Int result = 0;
    bool overflow = false;
    switch (op) {
        case Op::kAdd: overflow = __builtin_add_overflow(a, b, &result); break;
        case Op::kSub: overflow = __builtin_sub_overflow(a, b, &result); break;
        case Op::kMul: overflow = __builtin_mul_overflow(a, b, &result); break;
        case Op::kDiv: {
            if (b == 0) return bad("division by zero");
            return Value::real(static_cast<double>(a) / static_cast<double>(b), untrusted);
        }
        case Op::kFloorDiv:
        case Op::kMod: {
            if (b == 0) return bad("integer division or modulo by zero");
            if (b == -1) {  // The minimum has no counterpart, and the rest is 0 anyway.
                if (op == Op::kFloorDiv) overflow = __builtin_sub_overflow(Int{0}, a, &result);
                break;
            }
            const Int rest = a % b;
            const bool round_down = rest != 0 && (rest < 0) != (b < 0);
            result = op == Op::kMod ? (round_down ? rest + b : rest) : a / b - (round_down ? 1 : 0);
            break;
        }
        default: {
            if (b < 0) {
                if (a == 0) return bad("0.0 cannot be raised to a negative power");
                return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)),
                                   untrusted);
            }
            TRY(result, power(a, b));
        }
    }
    if (overflow) return too_large();
    return Value::integer(result, untrusted);
}

Result<Value> float_binary(Op op, double a, double b, bool untrusted) {
    switch (op) {
        case Op::kAdd: return Value::real(a + b, untrusted);
        case Op::kSub: return Value::real(a - b, untrusted);
        case Op::kMul: return Value::real(a * b, untrusted);
        case Op::kDiv: {
            if (b == 0) return bad("float division by zero");
            return Value::real(a / b, untrusted);
        }
        case Op::kFloorDiv:
        case Op::kMod: {
            if (b == 0)
                return bad(op == Op::kMod ? "float modulo" : "float floor division by zero");
            double rest = std::fmod(a, b);
            double quotient = (a - rest) / b;
            if (rest != 0 && (b < 0) != (rest < 0)) {
                rest += b;
                quotient -= 1;
            }
            if (op == Op::kMod)
                return Value::real(rest == 0 ? std::copysign(0.0, b) : rest, untrusted);
            double floor = std::floor(quotient);
            if (quotient - floor > 0.5) floor += 1;
            return Value::real(quotient == 0 ? std::copysign(0.0, a / b) : floor, untrusted);
        }
        default: break;
    }
    if (a == 0 && b < 0) return bad("0.0 cannot be raised to a negative power");
    if (a < 0 && b != std::floor(b)) return bad("a power would be a complex number");
    const double result = std::pow(a, b);
    if (std::isinf(result) && !std::isinf(a) && !std::isinf(b)) {
        return bad("(34, 'Numerical result out of range')");
    }
    return Value::real(result, untrusted);
}

}  // namespace

Result<Value> Interp::binary(Op op, const Value& left, const Value& right) {
    if (op == Op::kMod && left.is_text()) {
        TRY(Text formatted, percent_format(*this, left.text(), right));
        return text(std::move(formatted));
    }
    if (left.is_undefined()) return bad(left.undefined_message());
    if (right.is_undefined()) return bad(right.undefined_message());
    if (left.is_number() && right.is_number()) {
        const bool untrusted = left.untrusted() || right.untrusted();
        if (left.is_integral() && right.is_integral()) {
            return integer_binary(op, left.as_int(), right.as_int(), untrusted);
        }
        return float_binary(op, left.as_float(), right.as_float(), untrusted);
    }
    if (op == Op::kAdd) return add(left, right);
    if (op == Op::kMul) return multiply(left, right);
    return unsupported(op, left, right);
}

Result<Value> Interp::add(const Value& left, const Value& right) {
    if (left.is_text()) {
        if (!right.is_text()) {
            return bad(concat("can only concatenate str (not \"", type_name(right), "\") to str"));
        }
        Text out = left.text();
        out.append(right.text());
        return text(std::move(out));
    }
    const bool list_left = left.is_list() && (left.list()->type == List::Type::kList ||
                                              left.list()->type == List::Type::kTuple);
    if (!list_left) return unsupported(Op::kAdd, left, right);
    if (!right.is_list() || right.list()->type != left.list()->type) {
        const std::string name = type_name(left);
        return bad(
            concat("can only concatenate ", name, " (not \"", type_name(right), "\") to ", name));
    }
    std::vector<Value> items = left.list()->items;
    items.insert(items.end(), right.list()->items.begin(), right.list()->items.end());
    meter_.spend(static_cast<int64_t>(items.size() / 4));
    return list(std::move(items), left.list()->type);
}

/// Repeats a text or a list.
Result<Value> Interp::multiply(const Value& left, const Value& right) {
    const bool swapped = !left.is_text() && !left.is_list();
    const Value& what = swapped ? right : left;
    const Value& times = swapped ? left : right;
    const bool repeatable = what.is_text() || (what.is_list() && what.list()->is_sequence() &&
                                               what.list()->type != List::Type::kRange);
    if (!repeatable) return unsupported(Op::kMul, left, right);
    if (!times.is_integral()) {
        return bad(concat("can't multiply sequence by non-int of type '", type_name(times), "'"));
    }
    TRY(const int64_t count, times.as_int() < 0 ? Result<int64_t>(0) : to_index(times));
    if (what.is_text()) {
        const size_t size = what.text().size();
        if (size > 0 && static_cast<uint64_t>(count) > kTextBytesMax / size) {
            return bad(concat("a text grows beyond ", kTextBytesMax, " bytes"));
        }
        Text out;
        for (int64_t i = 0; i < count && size > 0; ++i) out.append(what.text());
        return text(std::move(out));
    }
    constexpr size_t kItemsMax = 1'000'000;
    const std::vector<Value>& source = what.list()->items;
    if (!source.empty() && static_cast<uint64_t>(count) > kItemsMax / source.size()) {
        return bad(concat("a list grows beyond ", kItemsMax, " items"));
    }
    std::vector<Value> items;
    for (int64_t i = 0; i < count && !source.empty(); ++i) {
        items.insert(items.end(), source.begin(), source.end());
    }
    return list(std::move(items), what.list()->type);
}

Result<bool> Interp::contains(const Value& container, const Value& item) {
    if (container.is_text()) {
        if (!item.is_text()) {
            return bad(
                concat("'in <string>' requires string as left operand, not ", type_name(item)));
        }
        meter_.spend_bytes(container.text().size());
        const std::string_view text = container.view();
        const std::string_view part = item.view();
        return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
    }
    const bool hashed =
        container.is_dict() || (container.is_list() && container.list()->type == List::Type::kKeys);
    if (hashed && !hashable(item)) {
        return bad(concat("unhashable type: '", type_name(item), "'"));
    }
    if (container.is_dict()) {
        return container.dict()->find(item, meter_) != nullptr;
    }
    if (container.is_undefined()) return false;
    const bool walkable =
        container.is_list() ||
        (container.is_object() && container.object()->type == Object::Type::kIterator);
    if (!walkable) {
        return bad(concat("argument of type '", type_name(container), "' is not iterable"));
    }
    TRY(const ListPtr items, iterate(container));
    for (const Value& candidate : items->items) {
        if (candidate.same(item) || equal(candidate, item, meter_)) return true;
    }
    TRY_VOID(meter_.check());
    return false;
}

Result<bool> Interp::compare(Op op, const Value& left, const Value& right) {
    switch (op) {
        case Op::kEq:
        case Op::kNe: {
            const bool same = equal(left, right, meter_);
            TRY_VOID(meter_.check());
            return same == (op == Op::kEq);
        }
        case Op::kIn: return contains(right, left);
        case Op::kNotIn: {
            TRY(const bool inside, contains(right, left));
            return !inside;
        }
        default: break;
    }
    const bool both_numbers = left.is_number() && right.is_number();
    if (both_numbers && (std::isnan(left.as_float()) || std::isnan(right.as_float()))) return false;
    if (op == Op::kLt) return less(left, right, "<", meter_);
    // a > b is b < a, and a <= b is not b < a; the operands stay in order in the text of an error.
    Result<bool> right_less =
        op == Op::kGe ? less(left, right, ">=", meter_) : less(right, left, op_text(op), meter_);
    if (!right_less) {
        if (left.is_undefined() || right.is_undefined() || meter_.exhausted()) return right_less;
        return bad(concat("'", op_text(op), "' not supported between instances of '",
                          type_name(left), "' and '", type_name(right), "'"));
    }
    return op == Op::kGt ? *right_less : !*right_less;
}

}  // namespace weir::jinja
