#include "tokenizer/jinja_check.h"

#include <functional>
#include <set>

#include "base/text.h"
#include "tokenizer/jinja_interp.h"

namespace weir::jinja {
namespace {

/// Calls `visit` for each direct part of an expression. Depth is bounded by the parser.
void each_part(const Expr& expr, const std::function<void(const Expr&)>& visit) {
    const auto offer = [&visit](const ExprPtr& part) {
        if (part) visit(*part);
    };
    for (const ExprPtr& part : expr.args) offer(part);
    if (!expr.call) return;
    for (const auto& [name, part] : expr.call->named) offer(part);
    offer(expr.call->star);
    offer(expr.call->double_star);
}

class NameCheck {
 public:
    /// `soft`: inside of a branch, where jinja2 leaves unknown names to the rendering.
    void expr(const Expr& node, bool soft) {
        const bool branches = node.kind == ExprKind::kIf;
        if (!soft && node.kind == ExprKind::kFilter && !find_filter(node.text)) {
            report(node.line, concat("No filter named '", node.text, "'."));
        }
        if (!soft && node.kind == ExprKind::kTest && !find_test(node.text)) {
            report(node.line, concat("No test named '", node.text, "'."));
        }
        each_part(node, [&](const Expr& part) { expr(part, soft || branches); });
    }
    void block(const Block& stmts, bool soft) {
        for (const StmtPtr& stmt : stmts) statement(*stmt, soft);
    }
    Result<void> result() && { return std::move(result_); }

 private:
    void offer(const ExprPtr& part, bool soft) {
        if (part) expr(*part, soft);
    }
    void statement(const Stmt& stmt, bool soft) {
        offer(stmt.expr, soft);
        offer(stmt.test, false);
        for (const Branch& branch : stmt.branches) {
            offer(branch.test, true);
            block(branch.body, true);
        }
        for (const Param& param : stmt.params) offer(param.value, soft);
        // Bodies of loops, macros and captures begin anew.
        block(stmt.body, false);
        block(stmt.other, stmt.kind == StmtKind::kIf);
    }
    void report(int line, std::string text) {
        if (result_) result_ = bad(concat("line ", line, ": ", text));
    }

    Result<void> result_;
};

/// All statements, those inside of others too.
void collect(const Block& stmts, std::vector<const Stmt*>& out) {
    for (const StmtPtr& stmt : stmts) {
        out.push_back(stmt.get());
        for (const Branch& branch : stmt->branches) collect(branch.body, out);
        collect(stmt->body, out);
        collect(stmt->other, out);
    }
}

using Names = std::set<std::string>;

/// The value behind filters, tests and slices.
const Expr& core(const Expr& expr) {
    const Expr* node = &expr;
    while (node->kind == ExprKind::kFilter || node->kind == ExprKind::kTest ||
           node->kind == ExprKind::kSlice) {
        node = node->args[0].get();
    }
    return *node;
}

bool is_one_of(const Expr& expr, const Names& names) {
    const Expr& node = core(expr);
    return node.kind == ExprKind::kName && names.contains(node.text);
}

bool is_content_of(const Expr& expr, const Names& messages) {
    const Expr& node = core(expr);
    if (node.kind != ExprKind::kAttribute && node.kind != ExprKind::kItem) return false;
    if (node.args[0]->kind != ExprKind::kName || !messages.contains(node.args[0]->text))
        return false;
    if (node.kind == ExprKind::kAttribute) return node.text == "content";
    const Expr& key = *node.args[1];
    return key.kind == ExprKind::kConstant && key.constant.is_text() &&
           key.constant.view() == "content";
}

/// Adds the names that are set to one of `names`, and so on, until none is new.
void follow_assignments(const std::vector<const Stmt*>& stmts, Names& names) {
    for (bool grown = true; grown;) {
        grown = false;
        for (const Stmt* stmt : stmts) {
            const bool plain =
                stmt->kind == StmtKind::kSet && stmt->target->kind == ExprKind::kName;
            if (plain && is_one_of(*stmt->expr, names)) {
                grown = names.insert(stmt->target->text).second || grown;
            }
        }
    }
}

}  // namespace

Result<void> check_names(const Template& source) {
    NameCheck check;
    check.block(source.body, false);
    return std::move(check).result();
}

bool loops_over_content(const Template& source) {
    std::vector<const Stmt*> stmts;
    collect(source.body, stmts);
    Names lists = {"messages"};
    follow_assignments(stmts, lists);
    Names messages;
    for (const Stmt* stmt : stmts) {
        const bool loop = stmt->kind == StmtKind::kFor && stmt->target->kind == ExprKind::kName;
        if (loop && is_one_of(*stmt->expr, lists)) messages.insert(stmt->target->text);
    }
    follow_assignments(stmts, messages);
    Names contents;
    for (const Stmt* stmt : stmts) {
        const bool plain = stmt->kind == StmtKind::kSet && stmt->target->kind == ExprKind::kName;
        if (plain && is_content_of(*stmt->expr, messages)) contents.insert(stmt->target->text);
    }
    follow_assignments(stmts, contents);
    for (const Stmt* stmt : stmts) {
        if (stmt->kind != StmtKind::kFor) continue;
        if (is_content_of(*stmt->expr, messages) || is_one_of(*stmt->expr, contents)) return true;
    }
    return false;
}

}  // namespace weir::jinja
