#include "tokenizer/jinja_expr_parser.h"

#include <algorithm>
#include <cstdlib>

#include "tokenizer/jinja_parser.h"

namespace weir::jinja {

Value constant_text(std::string_view text) {
    return Value(std::make_shared<const HeldText>(Text(text, true), nullptr));
}

bool ExprParser::skip_op(std::string_view op) {
    if (!now().is_op(op)) return false;
    next();
    return true;
}

bool ExprParser::skip_name(std::string_view name) {
    if (!now().is_name(name)) return false;
    next();
    return true;
}

std::string ExprParser::describe(TokenKind kind) {
    switch (kind) {
        case TokenKind::kData: return "template data / text";
        case TokenKind::kPrintBegin: return "begin of print statement";
        case TokenKind::kPrintEnd: return "end of print statement";
        case TokenKind::kTagBegin: return "begin of statement block";
        case TokenKind::kTagEnd: return "end of statement block";
        case TokenKind::kName: return "name";
        case TokenKind::kString: return "string";
        case TokenKind::kInteger: return "integer";
        case TokenKind::kFloat: return "float";
        case TokenKind::kOperator: return "operator";
        case TokenKind::kEnd: return "end of template";
    }
    return "token";
}

std::string ExprParser::describe(const Token& token) {
    const bool shown = token.kind == TokenKind::kName || token.kind == TokenKind::kOperator;
    return concat("'", shown ? token.text : describe(token.kind), "'");
}

Result<void> ExprParser::expect_op(std::string_view op) {
    if (skip_op(op)) return {};
    return error("expected token '", op, "', got ", describe(now()));
}

Result<void> ExprParser::expect(TokenKind kind) {
    if (now().kind != kind) {
        return error("expected token '", describe(kind), "', got ", describe(now()));
    }
    next();
    return {};
}

Result<std::string> ExprParser::expect_name() {
    std::string text = now().text;
    TRY_VOID(expect(TokenKind::kName));
    return text;
}

Result<void> ExprParser::check_nesting() const {
    if (nesting_ > kNestingMax) return error("nested deeper than ", kNestingMax, " levels");
    return {};
}

ExprPtr ExprParser::make(ExprKind kind, int line, ExprPtr first) const {
    auto node = std::make_unique<Expr>();
    node->kind = kind;
    node->line = line;
    if (first) node->args.push_back(std::move(first));
    return node;
}

Result<ExprPtr> ExprParser::finish(ExprPtr node) const {
    const auto cover = [&node](const ExprPtr& child) {
        if (child) node->depth = std::max(node->depth, child->depth + 1);
    };
    for (const ExprPtr& child : node->args) cover(child);
    if (node->call) {
        for (const auto& [name, child] : node->call->named) cover(child);
        cover(node->call->star);
        cover(node->call->double_star);
    }
    if (node->depth > kExprDepthMax) {
        return error_at(node->line, "an expression is deeper than ", kExprDepthMax, " levels");
    }
    return node;
}

Result<ExprPtr> ExprParser::expression(Conditional conditional) {
    const Nesting nesting(nesting_);
    TRY_VOID(check_nesting());
    TRY(ExprPtr node, logic(ExprKind::kOr));
    while (conditional == Conditional::kAllowed && now().is_name("if")) {
        ExprPtr choice = make(ExprKind::kIf, now().line);
        next();
        TRY(ExprPtr test, logic(ExprKind::kOr));
        ExprPtr other;
        if (skip_name("else")) {
            TRY(other, expression());
        }
        choice->args.push_back(std::move(test));
        choice->args.push_back(std::move(node));
        choice->args.push_back(std::move(other));
        TRY(node, finish(std::move(choice)));
    }
    return node;
}

bool ExprParser::at_tuple_end(std::string_view end_name) const {
    return now().kind == TokenKind::kPrintEnd || now().kind == TokenKind::kTagEnd ||
           now().is_op(")") || (!end_name.empty() && now().is_name(end_name));
}

Result<ExprPtr> ExprParser::tuple(Conditional conditional, std::string_view end_name) {
    ExprPtr node = make(ExprKind::kTuple, now().line);
    bool comma = false;
    while (!at_tuple_end(end_name)) {
        TRY(ExprPtr item, expression(conditional));
        node->args.push_back(std::move(item));
        if (!skip_op(",")) {
            if (!comma) return std::move(node->args[0]);
            break;
        }
        comma = true;
    }
    if (!comma) return error("Expected an expression, got ", describe(now()));
    return finish(std::move(node));
}

/// `a or b or c` is one node, as are chains of `and`: their length costs no depth.
Result<ExprPtr> ExprParser::logic(ExprKind kind) {
    const auto operand = [&] { return kind == ExprKind::kOr ? logic(ExprKind::kAnd) : negation(); };
    const std::string_view word = kind == ExprKind::kOr ? "or" : "and";
    const int line = now().line;
    TRY(ExprPtr node, operand());
    if (!now().is_name(word)) return node;
    ExprPtr all = make(kind, line, std::move(node));
    while (skip_name(word)) {
        TRY(ExprPtr right, operand());
        all->args.push_back(std::move(right));
    }
    return finish(std::move(all));
}

Result<ExprPtr> ExprParser::negation() {
    const int line = now().line;
    if (!skip_name("not")) return comparison();
    const Nesting nesting(nesting_);
    TRY_VOID(check_nesting());
    TRY(ExprPtr node, negation());
    return finish(make(ExprKind::kNot, line, std::move(node)));
}

Result<ExprPtr> ExprParser::comparison() {
    constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::kEq}, {"!=", Op::kNe},
                                                        {"<", Op::kLt},  {"<=", Op::kLe},
                                                        {">", Op::kGt},  {">=", Op::kGe}};
    const int line = now().line;
    TRY(ExprPtr node, chain(0));
    ExprPtr all;
    while (true) {
        Op op = Op::kIn;
        if (now().kind == TokenKind::kOperator) {
            const auto* found =
                std::find_if(std::begin(kOps), std::end(kOps),
                             [this](const auto& o) { return o.first == now().text; });
            if (found == std::end(kOps)) break;
            op = found->second;
        } else if (now().is_name("not") && ahead().is_name("in")) {
            next();
            op = Op::kNotIn;
        } else if (!now().is_name("in")) {
            break;
        }
        next();
        if (!all) all = make(ExprKind::kCompare, line, std::move(node));
        TRY(ExprPtr right, chain(0));
        all->args.push_back(std::move(right));
        all->ops.push_back(op);
    }
    if (!all) return node;
    return finish(std::move(all));
}

/// Precedences: 0 is + and -, 1 is ~, 2 is * / // %, 3 is **. All associate to the left, ** too.
Result<ExprPtr> ExprParser::chain(int precedence) {
    struct Entry {
        std::string_view text;
        int precedence;
        Op op;
    };
    constexpr Entry kOps[] = {{"+", 0, Op::kAdd}, {"-", 0, Op::kSub}, {"~", 1, Op::kAdd},
                              {"*", 2, Op::kMul}, {"/", 2, Op::kDiv}, {"//", 2, Op::kFloorDiv},
                              {"%", 2, Op::kMod}, {"**", 3, Op::kPow}};
    const auto operand = [&] { return precedence == 3 ? unary(true) : chain(precedence + 1); };
    const int line = now().line;
    TRY(ExprPtr node, operand());
    ExprPtr all;
    while (now().kind == TokenKind::kOperator) {
        const auto* found = std::find_if(std::begin(kOps), std::end(kOps), [&](const Entry& entry) {
            return entry.precedence == precedence && entry.text == now().text;
        });
        if (found == std::end(kOps)) break;
        next();
        if (!all) {
            all =
                make(precedence == 1 ? ExprKind::kConcat : ExprKind::kChain, line, std::move(node));
        }
        TRY(ExprPtr right, operand());
        all->args.push_back(std::move(right));
        all->ops.push_back(found->op);
    }
    if (!all) return node;
    return finish(std::move(all));
}

Result<ExprPtr> ExprParser::unary(bool with_filters) {
    const int line = now().line;
    ExprPtr node;
    if (now().is_op("-") || now().is_op("+")) {
        const ExprKind kind = now().is_op("-") ? ExprKind::kNegate : ExprKind::kPlus;
        next();
        const Nesting nesting(nesting_);
        TRY_VOID(check_nesting());
        TRY(ExprPtr operand, unary(false));
        TRY(node, finish(make(kind, line, std::move(operand))));
    } else {
        TRY(node, primary());
    }
    TRY(node, postfix(std::move(node)));
    return with_filters ? postfix_and_filters(std::move(node)) : std::move(node);
}

Result<ExprPtr> ExprParser::primary() {
    const Token& token = now();
    switch (token.kind) {
        case TokenKind::kName: return name();
        case TokenKind::kString: return string();
        case TokenKind::kInteger:
        case TokenKind::kFloat: return number();
        default: break;
    }
    if (token.is_op("(")) return parenthesis();
    if (token.is_op("[")) return list();
    if (token.is_op("{")) return dict();
    return error("unexpected ", describe(token));
}

Result<ExprPtr> ExprParser::name() {
    const Token& token = now();
    ExprPtr node = make(ExprKind::kConstant, token.line);
    const std::string& text = token.text;
    if (text == "true" || text == "True" || text == "false" || text == "False") {
        node->constant = Value::boolean(text == "true" || text == "True");
    } else if (text != "none" && text != "None") {
        node->kind = ExprKind::kName;
        node->text = text;
        for (Stmt* macro : macros_) {
            if (text == "caller") macro->uses_caller = true;
            if (text == "varargs") macro->uses_varargs = true;
            if (text == "kwargs") macro->uses_kwargs = true;
        }
    }
    next();
    return node;
}

Result<ExprPtr> ExprParser::string() {
    ExprPtr node = make(ExprKind::kConstant, now().line);
    std::string text;
    for (; now().kind == TokenKind::kString; next()) text += now().text;
    node->constant = constant_text(text);
    return node;
}

Result<ExprPtr> ExprParser::number() {
    ExprPtr node = make(ExprKind::kConstant, now().line);
    const std::string& text = now().text;
    if (now().kind == TokenKind::kFloat) {
        node->constant = Value::real(std::strtod(text.c_str(), nullptr));
    } else {
        const char mark = text.size() > 2 ? static_cast<char>(text[1] | 0x20) : '0';
        const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
        Int value = 0;
        for (size_t i = base == 10 ? 0 : 2; i < text.size(); ++i) {
            const char c = text[i];
            const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
            if (__builtin_mul_overflow(value, Int{base}, &value) ||
                __builtin_add_overflow(value, Int{digit}, &value)) {
                return error("the integer ", text, " is too large");
            }
        }
        node->constant = Value::integer(value);
    }
    next();
    return node;
}

Result<ExprPtr> ExprParser::parenthesis() {
    const int line = now().line;
    next();
    if (skip_op(")")) return make(ExprKind::kTuple, line);
    TRY(ExprPtr node, tuple(Conditional::kAllowed));
    TRY_VOID(expect_op(")"));
    return node;
}

Result<ExprPtr> ExprParser::list() {
    ExprPtr node = make(ExprKind::kList, now().line);
    next();
    while (!now().is_op("]")) {
        TRY(ExprPtr item, expression());
        node->args.push_back(std::move(item));
        if (!now().is_op("]")) {
            TRY_VOID(expect_op(","));
        }
    }
    next();
    return finish(std::move(node));
}

Result<ExprPtr> ExprParser::dict() {
    ExprPtr node = make(ExprKind::kDict, now().line);
    next();
    while (!now().is_op("}")) {
        TRY(ExprPtr key, expression());
        TRY_VOID(expect_op(":"));
        TRY(ExprPtr value, expression());
        node->args.push_back(std::move(key));
        node->args.push_back(std::move(value));
        if (!now().is_op("}")) {
            TRY_VOID(expect_op(","));
        }
    }
    next();
    return finish(std::move(node));
}

}  // namespace weir::jinja
