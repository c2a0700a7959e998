#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_value.h"

namespace weir::jinja {

/// Names of one block, innermost first; found by name, names live in the template or the context.
struct Scope {
    explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
    std::shared_ptr<Scope> parent;
    std::vector<std::pair<std::string_view, Value>> names;

    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

/// The clock of one rendering, for strftime_now.
struct Now {
    int64_t unix_s = 0;
    std::string date;  // Answer for "%d %b %Y"; computed from unix_s if empty.
};

struct Loop;
struct Macro;
struct Namespace;

/// Renders one parsed template once. Also the services that filters, tests and methods need.
/// Single-threaded; the template is only read. Errors carry "line N: " once.
class Interp {
 public:
    Interp(const Template& source, const Limits& limits, Now now);
    Interp(const Interp&) = delete;
    Interp& operator=(const Interp&) = delete;
    ~Interp();

    /// `context` are the global names; their strings must outlive the call.
    Result<Text> run(std::vector<std::pair<std::string_view, Value>> context);

    Meter& meter() { return meter_; }
    const Now& clock() const { return now_; }

    // Making values: they count what is held and refuse what is too large or too deep.
    Result<Value> text(Text text);
    Result<Value> text(std::string_view bytes, bool trusted) { return text(Text(bytes, trusted)); }
    Result<Value> list(std::vector<Value> items, List::Type type = List::Type::kList);
    Result<Value> range(int64_t start, int64_t stop, int64_t step);
    Result<Value> dict(std::vector<std::pair<Value, Value>> items, bool untrusted = false);
    Result<Value> iterator(std::vector<Value> items, std::string type_name = "generator");
    Value undefined(std::string message) const;
    Value method(Value self, std::string_view name);

    // Operations on values, as Python and jinja2 do them.
    /// The items to walk over: keys of a dict, characters of a text. Uses an iterator up.
    Result<ListPtr> iterate(const Value& value);
    Result<int64_t> length(const Value& value);
    Result<Value> attribute(const Value& value, std::string_view name);
    Result<Value> item(const Value& value, const Value& key);
    Result<Value> slice(const Value& value, const Value& start, const Value& stop,
                        const Value& step);
    Result<Value> binary(Op op, const Value& left, const Value& right);
    Result<bool> compare(Op op, const Value& left, const Value& right);
    Result<bool> contains(const Value& container, const Value& item);
    Result<Value> call(const Value& function, const Args& args);
    Result<Value> filter(std::string_view name, const Value& value, const Args& args);
    Result<bool> test(std::string_view name, const Value& value, const Args& args);
    /// str(value), with origin.
    Result<Text> str(const Value& value);
    /// `a.b.0` of a value, as filters take it for `attribute`.
    Result<Value> path(const Value& value, const Value& path);
    /// A namespace object; `args` as dict() takes them.
    Result<Value> make_namespace(const Args& args);
    /// loop(children) of a recursive loop.
    Result<Value> recurse(const Loop& loop, const Value& items);
    Result<Value> call_macro(const Macro& macro, const Args& args);
    /// An error that is shown without a line: the template's own words.
    tl::unexpected<Error> raise(std::string text);

 private:
    enum class Flow { kNext, kBreak, kContinue };

    /// Counts a nested node or statement for as long as it lives.
    class Depth {
     public:
        explicit Depth(int& depth) : depth_(depth) { ++depth_; }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        ~Depth() { --depth_; }

     private:
        int& depth_;
    };
    Result<void> check_depth() const;

    Result<Flow> run_block(const Block& block, const ScopePtr& scope);
    Result<Flow> run_stmt(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_kind(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_for(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_loop(const Stmt& stmt, const ScopePtr& scope, const Value& items, int depth);
    Result<bool> run_rounds(const Stmt& stmt, const ScopePtr& scope,
                            const std::shared_ptr<Loop>& loop);
    Result<ListPtr> kept_items(const Stmt& stmt, const ScopePtr& scope, const Value& items);
    Result<Flow> run_if(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_with(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_set(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_captured(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> run_call_block(const Stmt& stmt, const ScopePtr& scope);
    Result<Flow> print(const Value& value);
    Result<void> assign(const Expr& target, Value value, const ScopePtr& scope);
    Result<void> bind_params(const Stmt& stmt, const Args& args, const ScopePtr& scope,
                             std::vector<bool>& used);
    Result<void> bind_rest(const Stmt& stmt, const Args& args, const ScopePtr& scope,
                           const std::vector<bool>& used);
    /// Scopes that macros and recursive loops refer to live until the end.
    void keep(const ScopePtr& scope);
    Value make_macro(const Stmt& stmt, const ScopePtr& scope);
    /// The body's text; flow leaves through `flow`.
    Result<Text> capture(const Block& body, const ScopePtr& scope, Flow& flow);

    Result<Value> eval(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_kind(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_name(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_items(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_dict(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_slice(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_call(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_filter(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_test(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_logic(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_concat(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_chain(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_compare(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_if(const Expr& expr, const ScopePtr& scope);
    Result<Value> eval_sign(const Expr& expr, const ScopePtr& scope);
    Result<Args> eval_args(const Expr& expr, const ScopePtr& scope);
    Result<Value> multiply(const Value& left, const Value& right);
    Result<Value> add(const Value& left, const Value& right);
    /// Puts "line N: " before an error that has no line yet.
    Error located(Error error, int line);

    const Template& source_;
    Meter meter_;
    Now now_;
    Text output_;  // Of the innermost capture, or the template's.
    ScopePtr globals_;
    std::vector<Value> holes_;
    int depth_ = 0;
    int macro_depth_ = 0;
    bool located_ = false;
    // Both can hold values that hold them: cleared at the end.
    std::vector<std::shared_ptr<Namespace>> namespaces_;
    std::vector<ScopePtr> kept_scopes_;
};

using Builtin = Result<Value> (*)(Interp&, const Value& self, const Args& args);

struct Namespace : Object {
    Namespace() : Object(Type::kNamespace) {}
    std::vector<std::pair<std::string, Value>> names;
    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
};

struct Macro : Object {
    Macro(const Stmt& s, ScopePtr around)
        : Object(Type::kMacro), stmt(s), scope(std::move(around)) {}
    const Stmt& stmt;
    ScopePtr scope;
};

/// A bound method of a value ("abc".strip) or a global function (then self is none).
struct Function : Object {
    Function(Type t, Value bound, std::string function_name, Builtin f)
        : Object(t), self(std::move(bound)), name(std::move(function_name)), builtin(f) {
        nesting = nesting_of(self);
    }
    Value self;
    std::string name;
    Builtin builtin;
};

struct Loop : Object {
    Loop(const Stmt& s, ScopePtr around) : Object(Type::kLoop), stmt(s), scope(std::move(around)) {}
    const Stmt& stmt;
    ScopePtr scope;
    ListPtr items;
    size_t index = 0;
    int depth = 0;
    std::vector<Value> last_changed;  // Arguments of the last changed(); empty: never called.
    bool changed_called = false;
};

struct Cycler : Object {
    Cycler() : Object(Type::kCycler) {}
    std::vector<Value> items;
    size_t pos = 0;
};

struct Joiner : Object {
    Joiner() : Object(Type::kJoiner) {}
    Value separator;
    bool used = false;
};

// The tables of what the language has built in; null if there is none of that name.
Builtin find_filter(std::string_view name);
using TestFunction = Result<bool> (*)(Interp&, const Value& self, const Args& args);
TestFunction find_test(std::string_view name);
Builtin find_function(std::string_view name);
Builtin find_method(const Value& self, std::string_view name);
/// Attribute of a loop, namespace, cycler, group or macro, if it has that one.
Result<std::optional<Value>> find_attribute(Interp& interp, const Value& self,
                                            std::string_view name);

/// Arguments by name: "chars? width" are two, the first optional. Absent ones are null.
/// Fails with Python's TypeErrors.
class Bound {
 public:
    const Value* operator[](size_t i) const { return values_[i]; }
    /// Given and not none.
    bool has(size_t i) const { return values_[i] && !values_[i]->is_none(); }
    bool flag(size_t i, bool otherwise) const {
        return values_[i] ? values_[i]->truthy() : otherwise;
    }
    Result<int64_t> number(size_t i, int64_t otherwise) const;
    Result<Text> text(size_t i, std::string_view otherwise) const;

 private:
    friend Result<Bound> bind_args(std::string_view, std::string_view, const Args&);
    const Value* values_[6] = {};
};
Result<Bound> bind_args(std::string_view function, std::string_view params, const Args& args);

/// "'str' object cannot be interpreted as an integer" unless it is one that fits.
Result<int64_t> to_index(const Value& value);

}  // namespace weir::jinja
