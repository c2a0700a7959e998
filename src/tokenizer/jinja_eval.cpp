// Interp's expressions.

#include "base/check.h"
#include "base/text.h"
#include "tokenizer/jinja_interp.h"

namespace weir::jinja {

Result<Value> Interp::eval(const Expr& expr, const ScopePtr& scope) {
    if (expr.kind == ExprKind::kConstant) return expr.constant;
    meter_.spend(1);
    const Depth depth(depth_);
    Result<void> ready = check_depth();
    Result<Value> value = ready ? eval_kind(expr, scope) : tl::unexpected(std::move(ready.error()));
    if (!value) return tl::unexpected(located(std::move(value.error()), expr.line));
    return value;
}

Result<Value> Interp::eval_kind(const Expr& expr, const ScopePtr& scope) {
    switch (expr.kind) {
        case ExprKind::kConstant: return expr.constant;
        case ExprKind::kName: return eval_name(expr, scope);
        case ExprKind::kList:
        case ExprKind::kTuple: return eval_items(expr, scope);
        case ExprKind::kDict: return eval_dict(expr, scope);
        case ExprKind::kAttribute: {
            TRY(const Value value, eval(*expr.args[0], scope));
            return attribute(value, expr.text);
        }
        case ExprKind::kItem: {
            TRY(const Value value, eval(*expr.args[0], scope));
            TRY(const Value key, eval(*expr.args[1], scope));
            return item(value, key);
        }
        case ExprKind::kSlice: return eval_slice(expr, scope);
        case ExprKind::kCall: return eval_call(expr, scope);
        case ExprKind::kFilter: return eval_filter(expr, scope);
        case ExprKind::kTest: return eval_test(expr, scope);
        case ExprKind::kNot: {
            TRY(const Value value, eval(*expr.args[0], scope));
            return Value::boolean(!value.truthy());
        }
        case ExprKind::kNegate:
        case ExprKind::kPlus: return eval_sign(expr, scope);
        case ExprKind::kAnd:
        case ExprKind::kOr: return eval_logic(expr, scope);
        case ExprKind::kConcat: return eval_concat(expr, scope);
        case ExprKind::kChain: return eval_chain(expr, scope);
        case ExprKind::kCompare: return eval_compare(expr, scope);
        case ExprKind::kIf: return eval_if(expr, scope);
        case ExprKind::kHole: break;
    }
    CHECK(!holes_.empty());
    return holes_.back();
}

Result<Value> Interp::eval_name(const Expr& expr, const ScopePtr& scope) {
    if (const Value* found = scope->find(expr.text)) return *found;
    if (const Builtin function = find_function(expr.text)) {
        return Value(ObjectPtr(
            std::make_shared<Function>(Object::Type::kFunction, Value(), expr.text, function)));
    }
    return undefined(concat("'", expr.text, "' is undefined"));
}

Result<Value> Interp::eval_items(const Expr& expr, const ScopePtr& scope) {
    std::vector<Value> items;
    items.reserve(expr.args.size());
    for (const ExprPtr& arg : expr.args) {
        TRY(Value value, eval(*arg, scope));
        items.push_back(std::move(value));
    }
    return list(std::move(items),
                expr.kind == ExprKind::kList ? List::Type::kList : List::Type::kTuple);
}

Result<Value> Interp::eval_dict(const Expr& expr, const ScopePtr& scope) {
    std::vector<std::pair<Value, Value>> items;
    for (size_t i = 0; i < expr.args.size(); i += 2) {
        TRY(Value key, eval(*expr.args[i], scope));
        TRY(Value value, eval(*expr.args[i + 1], scope));
        items.emplace_back(std::move(key), std::move(value));
    }
    return dict(std::move(items));
}

Result<Value> Interp::eval_slice(const Expr& expr, const ScopePtr& scope) {
    Value parts[4];
    for (size_t i = 0; i < 4; ++i) {
        if (!expr.args[i]) continue;
        TRY(parts[i], eval(*expr.args[i], scope));
    }
    return slice(parts[0], parts[1], parts[2], parts[3]);
}

/// The arguments behind args[0].
Result<Args> Interp::eval_args(const Expr& expr, const ScopePtr& scope) {
    Args out;
    for (size_t i = 1; i < expr.args.size(); ++i) {
        TRY(Value value, eval(*expr.args[i], scope));
        out.positional.push_back(std::move(value));
    }
    if (!expr.call) return out;
    for (const auto& [name, arg] : expr.call->named) {
        TRY(Value value, eval(*arg, scope));
        out.named.push_back({name, std::move(value)});
    }
    if (expr.call->star) {
        TRY(const Value value, eval(*expr.call->star, scope));
        TRY(const ListPtr items, iterate(value));
        meter_.spend(static_cast<int64_t>(items->items.size()));
        out.positional.insert(out.positional.end(), items->items.begin(), items->items.end());
    }
    if (expr.call->double_star) {
        TRY(const Value value, eval(*expr.call->double_star, scope));
        if (!value.is_dict()) {
            return bad(concat("argument after ** must be a mapping, not ", type_name(value)));
        }
        for (const auto& [key, item_value] : value.dict()->items) {
            if (!key.is_text()) return bad("keywords must be strings");
            if (out.find(key.view())) {
                return bad(concat("got multiple values for keyword argument '", key.view(), "'"));
            }
            out.named.push_back({std::string(key.view()), item_value});
        }
    }
    return out;
}

Result<Value> Interp::eval_call(const Expr& expr, const ScopePtr& scope) {
    TRY(const Value function, eval(*expr.args[0], scope));
    TRY(const Args args, eval_args(expr, scope));
    return call(function, args);
}

Result<Value> Interp::eval_filter(const Expr& expr, const ScopePtr& scope) {
    TRY(const Value value, eval(*expr.args[0], scope));
    TRY(const Args args, eval_args(expr, scope));
    return filter(expr.text, value, args);
}

Result<Value> Interp::eval_test(const Expr& expr, const ScopePtr& scope) {
    TRY(const Value value, eval(*expr.args[0], scope));
    TRY(const Args args, eval_args(expr, scope));
    TRY(const bool result, test(expr.text, value, args));
    return Value::boolean(result);
}

Result<Value> Interp::eval_logic(const Expr& expr, const ScopePtr& scope) {
    const bool stop_at = expr.kind == ExprKind::kOr;
    for (size_t i = 0; i + 1 < expr.args.size(); ++i) {
        TRY(Value value, eval(*expr.args[i], scope));
        if (value.truthy() == stop_at) return value;
    }
    return eval(*expr.args.back(), scope);
}

Result<Value> Interp::eval_concat(const Expr& expr, const ScopePtr& scope) {
    Text out;
    for (const ExprPtr& arg : expr.args) {
        TRY(const Value value, eval(*arg, scope));
        if (value.is_text()) {
            out.append(value.text());
        } else {
            TRY(const Text piece, str(value));
            out.append(piece);
        }
    }
    meter_.spend_bytes(out.size());
    return text(std::move(out));
}

Result<Value> Interp::eval_chain(const Expr& expr, const ScopePtr& scope) {
    TRY(Value left, eval(*expr.args[0], scope));
    for (size_t i = 0; i < expr.ops.size(); ++i) {
        TRY(const Value right, eval(*expr.args[i + 1], scope));
        TRY(left, binary(expr.ops[i], left, right));
    }
    return left;
}

Result<Value> Interp::eval_compare(const Expr& expr, const ScopePtr& scope) {
    TRY(Value left, eval(*expr.args[0], scope));
    for (size_t i = 0; i < expr.ops.size(); ++i) {
        TRY(Value right, eval(*expr.args[i + 1], scope));
        TRY(const bool holds, compare(expr.ops[i], left, right));
        if (!holds) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Result<Value> Interp::eval_if(const Expr& expr, const ScopePtr& scope) {
    TRY(const Value test_value, eval(*expr.args[0], scope));
    if (test_value.truthy()) return eval(*expr.args[1], scope);
    if (expr.args[2]) return eval(*expr.args[2], scope);
    return undefined(concat("the inline if-expression on line ", expr.line,
                            " evaluated to false and no else section was defined."));
}

Result<Value> Interp::eval_sign(const Expr& expr, const ScopePtr& scope) {
    TRY(const Value value, eval(*expr.args[0], scope));
    const bool negate = expr.kind == ExprKind::kNegate;
    if (value.is_undefined()) return bad(value.undefined_message());
    if (value.is_float()) {
        return Value::real(negate ? -value.as_float() : value.as_float(), value.untrusted());
    }
    if (!value.is_integral()) {
        return bad(concat("bad operand type for unary ", negate ? "-" : "+", ": '",
                          type_name(value), "'"));
    }
    Int result = value.as_int();
    if (negate && __builtin_sub_overflow(Int{0}, result, &result)) {
        return bad("an integer grows beyond 128 bits");
    }
    return Value::integer(result, value.untrusted());
}

}  // namespace weir::jinja
