#include "tokenizer/jinja_interp.h"

#include <algorithm>

#include "base/text.h"

namespace weir::jinja {

const Value* Scope::find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->parent.get()) {
        for (const auto& [other, value] : scope->names) {
            if (other == name) return &value;
        }
    }
    return nullptr;
}

void Scope::set(std::string_view name, Value value) {
    for (auto& [other, old] : names) {
        if (other == name) {
            old = std::move(value);
            return;
        }
    }
    names.emplace_back(name, std::move(value));
}

Interp::Interp(const Template& source, const Limits& limits, Now now)
    : source_(source),
      meter_(limits),
      now_(std::move(now)),
      globals_(std::make_shared<Scope>(nullptr)) {}

Interp::~Interp() {
    // Namespaces and the scopes of macros can hold each other: cut what they hold, all still alive.
    for (const auto& ns : namespaces_) ns->names.clear();
    for (const ScopePtr& scope : kept_scopes_) scope->names.clear();
}

Error Interp::located(Error error, int line) {
    if (!located_) error.text = concat("line ", line, ": ", error.text);
    located_ = true;
    return error;
}

tl::unexpected<Error> Interp::raise(std::string text) {
    located_ = true;
    return bad(std::move(text));
}

Result<void> Interp::check_depth() const {
    if (depth_ > meter_.limits().eval_depth_max) {
        return bad(
            concat("rendering is nested deeper than ", meter_.limits().eval_depth_max, " levels"));
    }
    return meter_.check();
}

Result<Text> Interp::run(std::vector<std::pair<std::string_view, Value>> context) {
    globals_->names = std::move(context);
    // The template's own names lie over the context, as in jinja2.
    const auto scope = std::make_shared<Scope>(globals_);
    TRY_VOID(run_block(source_.body, scope));
    return std::move(output_);
}

Result<Interp::Flow> Interp::run_block(const Block& block, const ScopePtr& scope) {
    for (const StmtPtr& stmt : block) {
        TRY(const Flow flow, run_stmt(*stmt, scope));
        if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
}

Result<Interp::Flow> Interp::run_stmt(const Stmt& stmt, const ScopePtr& scope) {
    const Depth depth(depth_);
    meter_.spend(1);
    Result<void> ready = check_depth();
    Result<Flow> flow = ready ? run_kind(stmt, scope) : tl::unexpected(std::move(ready.error()));
    if (!flow) return tl::unexpected(located(std::move(flow.error()), stmt.line));
    return flow;
}

Result<Interp::Flow> Interp::run_kind(const Stmt& stmt, const ScopePtr& scope) {
    switch (stmt.kind) {
        case StmtKind::kText: return print(stmt.constant);
        case StmtKind::kPrint: {
            TRY(const Value value, eval(*stmt.expr, scope));
            return print(value);
        }
        case StmtKind::kFor: return run_for(stmt, scope);
        case StmtKind::kIf: return run_if(stmt, scope);
        case StmtKind::kSet: return run_set(stmt, scope);
        case StmtKind::kSetBlock:
        case StmtKind::kFilterBlock: return run_captured(stmt, scope);
        case StmtKind::kMacro: scope->set(stmt.text, make_macro(stmt, scope)); break;
        case StmtKind::kCallBlock: return run_call_block(stmt, scope);
        case StmtKind::kWith: return run_with(stmt, scope);
        case StmtKind::kScope: return run_block(stmt.body, std::make_shared<Scope>(scope));
        case StmtKind::kBreak: return Flow::kBreak;
        case StmtKind::kContinue: return Flow::kContinue;
    }
    return Flow::kNext;
}

Result<Interp::Flow> Interp::print(const Value& value) {
    if (value.is_text()) {
        output_.append(value.text());
    } else {
        TRY(const Text text, str(value));
        output_.append(text);
    }
    if (output_.overflow()) return bad(concat("the output grows beyond ", kTextBytesMax, " bytes"));
    return Flow::kNext;
}

Result<Text> Interp::capture(const Block& body, const ScopePtr& scope, Flow& flow) {
    Text outer = std::move(output_);
    output_ = Text();
    Result<Flow> result = run_block(body, scope);
    Text captured = std::move(output_);
    output_ = std::move(outer);
    TRY(flow, std::move(result));
    return captured;
}

Result<Interp::Flow> Interp::run_if(const Stmt& stmt, const ScopePtr& scope) {
    for (const Branch& branch : stmt.branches) {
        TRY(const Value test, eval(*branch.test, scope));
        if (test.truthy()) return run_block(branch.body, scope);
    }
    return run_block(stmt.other, scope);
}

Result<Interp::Flow> Interp::run_for(const Stmt& stmt, const ScopePtr& scope) {
    TRY(const Value items, eval(*stmt.expr, scope));
    return run_loop(stmt, scope, items, 0);
}

/// What is left of `items` after the loop's own `if`.
Result<ListPtr> Interp::kept_items(const Stmt& stmt, const ScopePtr& scope, const Value& items) {
    TRY(ListPtr all, iterate(items));
    if (!stmt.test) return all;
    std::vector<Value> kept;
    const auto inner = std::make_shared<Scope>(scope);
    for (const Value& item : all->items) {
        TRY_VOID(assign(*stmt.target, item, inner));
        TRY(const Value test, eval(*stmt.test, inner));
        if (test.truthy()) kept.push_back(item);
    }
    TRY(const Value list_value, list(std::move(kept)));
    return list_value.list();
}

Result<Interp::Flow> Interp::run_loop(const Stmt& stmt, const ScopePtr& scope, const Value& items,
                                      int depth) {
    // Only recursive loops need their scope later; the list of scopes breaks the cycle then.
    const auto loop = std::make_shared<Loop>(stmt, stmt.recursive ? scope : nullptr);
    if (stmt.recursive) keep(scope);
    loop->depth = depth;
    TRY(loop->items, kept_items(stmt, scope, items));
    loop->nesting = loop->items->depth;
    Result<bool> finished = run_rounds(stmt, scope, loop);
    loop->last_changed.clear();  // It may hold the loop itself.
    TRY(const bool one_finished, std::move(finished));
    if (one_finished) return Flow::kNext;
    return run_block(stmt.other, std::make_shared<Scope>(scope));
}

/// True if a round came to its end: what `else` depends on in jinja2 (a loop whose every round
/// continues or breaks counts as empty).
Result<bool> Interp::run_rounds(const Stmt& stmt, const ScopePtr& scope,
                                const std::shared_ptr<Loop>& loop) {
    bool finished = false;
    auto inner = std::make_shared<Scope>(scope);
    for (size_t i = 0; i < loop->items->items.size(); ++i) {
        loop->index = i;
        if (inner.use_count() > 1) {  // A macro kept it.
            inner = std::make_shared<Scope>(scope);
        } else {
            inner->names.clear();
        }
        inner->set("loop", Value(ObjectPtr(loop)));
        TRY_VOID(assign(*stmt.target, loop->items->items[i], inner));
        TRY(const Flow flow, run_block(stmt.body, inner));
        if (flow == Flow::kBreak) break;
        finished = finished || flow == Flow::kNext;
    }
    return finished;
}

Result<Value> Interp::recurse(const Loop& loop, const Value& items) {
    if (!loop.scope) {
        return bad("The loop must have the 'recursive' marker to be called recursively.");
    }
    Text outer = std::move(output_);
    output_ = Text();
    Result<Flow> result = run_loop(loop.stmt, loop.scope, items, loop.depth + 1);
    Text captured = std::move(output_);
    output_ = std::move(outer);
    TRY_VOID(std::move(result));
    return text(std::move(captured));
}

Result<Interp::Flow> Interp::run_with(const Stmt& stmt, const ScopePtr& scope) {
    const auto inner = std::make_shared<Scope>(scope);
    for (const Param& param : stmt.params) {
        TRY(Value value, eval(*param.value, scope));
        TRY_VOID(assign(*param.target, std::move(value), inner));
    }
    return run_block(stmt.body, inner);
}

Result<Interp::Flow> Interp::run_set(const Stmt& stmt, const ScopePtr& scope) {
    TRY(Value value, eval(*stmt.expr, scope));
    TRY_VOID(assign(*stmt.target, std::move(value), scope));
    return Flow::kNext;
}

Result<Interp::Flow> Interp::run_captured(const Stmt& stmt, const ScopePtr& scope) {
    Flow flow = Flow::kNext;
    TRY(Text captured, capture(stmt.body, std::make_shared<Scope>(scope), flow));
    if (flow != Flow::kNext) return flow;
    TRY(Value value, text(std::move(captured)));
    if (stmt.expr) {
        holes_.push_back(value);
        Result<Value> filtered = eval(*stmt.expr, scope);
        holes_.pop_back();
        TRY(value, std::move(filtered));
    }
    if (stmt.kind == StmtKind::kFilterBlock) return print(value);
    TRY_VOID(assign(*stmt.target, std::move(value), scope));
    return Flow::kNext;
}

void Interp::keep(const ScopePtr& scope) {
    constexpr size_t kScopeBytes = 256;  // Roughly; held until the end.
    if (!kept_scopes_.empty() && kept_scopes_.back() == scope) return;
    kept_scopes_.push_back(scope);
    meter_.hold(kScopeBytes);
}

Value Interp::make_macro(const Stmt& stmt, const ScopePtr& scope) {
    keep(scope);
    return Value(ObjectPtr(std::make_shared<Macro>(stmt, scope)));
}

Result<Interp::Flow> Interp::run_call_block(const Stmt& stmt, const ScopePtr& scope) {
    const Expr& target = *stmt.expr;
    TRY(const Value function, eval(*target.args[0], scope));
    TRY(Args args, eval_args(target, scope));
    args.named.push_back({"caller", make_macro(stmt, scope)});
    TRY(const Value result, call(function, args));
    return print(result);
}

Result<void> Interp::assign(const Expr& target, Value value, const ScopePtr& scope) {
    if (target.kind == ExprKind::kName) {
        scope->set(target.text, std::move(value));
        return {};
    }
    if (target.kind == ExprKind::kAttribute) {
        TRY(const Value object, eval(*target.args[0], scope));
        if (!object.is_object() || object.object()->type != Object::Type::kNamespace) {
            return bad("cannot assign attribute on non-namespace object");
        }
        static_cast<Namespace&>(*object.object()).set(target.text, std::move(value));
        return {};
    }
    if (value.is_none() || value.is_number()) {
        return bad(concat("cannot unpack non-iterable ", type_name(value), " object"));
    }
    TRY(const ListPtr items, iterate(value));
    const size_t wanted = target.args.size();
    if (items->items.size() > wanted) {
        return bad(concat("too many values to unpack (expected ", wanted, ")"));
    }
    if (items->items.size() < wanted) {
        return bad(concat("not enough values to unpack (expected ", wanted, ", got ",
                          items->items.size(), ")"));
    }
    for (size_t i = 0; i < wanted; ++i) {
        TRY_VOID(assign(*target.args[i], items->items[i], scope));
    }
    return {};
}

/// Names for the parameters; marks the named arguments that it takes.
Result<void> Interp::bind_params(const Stmt& stmt, const Args& args, const ScopePtr& scope,
                                 std::vector<bool>& used) {
    for (size_t i = 0; i < stmt.params.size(); ++i) {
        const std::string& name = stmt.params[i].target->text;
        if (i < args.positional.size()) {
            scope->set(name, args.positional[i]);
            continue;
        }
        if (const Value* given = args.find(name)) {
            for (size_t k = 0; k < used.size(); ++k) {
                if (&args.named[k].value == given) used[k] = true;
            }
            scope->set(name, *given);
        } else if (stmt.params[i].value) {
            TRY(Value value, eval(*stmt.params[i].value, scope));
            scope->set(name, std::move(value));
        } else {
            scope->set(name, undefined(concat("parameter '", name, "' was not provided")));
        }
    }
    return {};
}

/// caller, kwargs and varargs, for macros that mention them; an error for what is left otherwise.
Result<void> Interp::bind_rest(const Stmt& stmt, const Args& args, const ScopePtr& scope,
                               const std::vector<bool>& used) {
    std::vector<std::pair<Value, Value>> rest;
    Value caller = undefined("No caller defined");
    for (size_t k = 0; k < used.size(); ++k) {
        const NamedValue& argument = args.named[k];
        if (used[k]) continue;
        if (argument.name == "caller" && stmt.uses_caller) {
            caller = argument.value;
        } else if (stmt.uses_kwargs) {
            TRY(Value key, text(argument.name, true));
            rest.emplace_back(std::move(key), argument.value);
        } else {
            return bad(
                concat("macro '", stmt.text, "' takes no keyword argument '", argument.name, "'"));
        }
    }
    if (stmt.uses_caller) scope->set("caller", std::move(caller));
    if (stmt.uses_kwargs) {
        TRY(Value kwargs, dict(std::move(rest)));
        scope->set("kwargs", std::move(kwargs));
    }
    const size_t num_taken = std::min(args.positional.size(), stmt.params.size());
    if (stmt.uses_varargs) {
        const auto first = args.positional.begin() + static_cast<ptrdiff_t>(num_taken);
        TRY(Value varargs, list({first, args.positional.end()}, List::Type::kTuple));
        scope->set("varargs", std::move(varargs));
    } else if (args.positional.size() > num_taken) {
        return bad(concat("macro '", stmt.text, "' takes not more than ", stmt.params.size(),
                          " argument(s)"));
    }
    return {};
}

Result<Value> Interp::call_macro(const Macro& macro, const Args& args) {
    const Depth depth(macro_depth_);
    if (macro_depth_ > meter_.limits().macro_depth_max) {
        return bad(concat("macros call each other deeper than ", meter_.limits().macro_depth_max,
                          " levels"));
    }
    const auto scope = std::make_shared<Scope>(macro.scope);
    std::vector<bool> used(args.named.size());
    TRY_VOID(bind_params(macro.stmt, args, scope, used));
    TRY_VOID(bind_rest(macro.stmt, args, scope, used));
    Flow flow = Flow::kNext;
    TRY(Text captured, capture(macro.stmt.body, scope, flow));
    return text(std::move(captured));
}

}  // namespace weir::jinja
