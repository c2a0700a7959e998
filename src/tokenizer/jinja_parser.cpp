#include "tokenizer/jinja_parser.h"

#include <algorithm>

#include "tokenizer/jinja_expr_parser.h"

namespace weir::jinja {
namespace {

/// The statement half of the parser.
class Parser : public ExprParser {
 public:
    using ExprParser::ExprParser;

    Result<Template> run() {
        Template out;
        TRY(out.body, block({}));
        return out;
    }

 private:
    using EndNames = std::vector<std::string_view>;

    Result<Block> block(const EndNames& ends);
    Result<Block> body(const EndNames& ends);
    Result<Block> macro_body(Stmt& stmt, std::string_view end);
    tl::unexpected<Error> unexpected_end(std::string_view tag) const;
    Result<StmtPtr> print();
    Result<StmtPtr> statement();
    Result<StmtPtr> statement_of(const std::string& tag, int line);
    Result<StmtPtr> for_loop(int line);
    Result<StmtPtr> if_chain(int line);
    Result<StmtPtr> set(int line);
    Result<StmtPtr> macro(int line);
    Result<StmtPtr> call_block(int line);
    Result<StmtPtr> filter_block(int line);
    Result<StmtPtr> with(int line);
    Result<StmtPtr> print_tag(int line);
    Result<StmtPtr> loop_control(StmtKind kind, int line);
    Result<void> signature(Stmt& stmt);
    Result<ExprPtr> target(bool attributes);
    Result<ExprPtr> target_item(bool attributes);

    static StmtPtr make_stmt(StmtKind kind, int line) {
        auto stmt = std::make_unique<Stmt>();
        stmt->kind = kind;
        stmt->line = line;
        return stmt;
    }

    std::vector<EndNames> ends_;     // What would close the tags that are open, innermost last.
    std::vector<std::string> tags_;  // Their names.
    int loops_ = 0;                  // Around this place, without a macro between.
};

std::string quoted_choice(const std::vector<std::string_view>& names) {
    std::string out;
    for (const std::string_view name : names) {
        out += out.empty() ? "'" : " or '";
        out += name;
        out += "'";
    }
    return out;
}

tl::unexpected<Error> Parser::unexpected_end(std::string_view tag) const {
    std::string text = tag.empty() ? "Unexpected end of template."
                                   : concat("Encountered unknown tag '", tag, "'.");
    if (!ends_.empty()) {
        const bool known = std::any_of(ends_.begin(), ends_.end(), [tag](const EndNames& names) {
            return std::find(names.begin(), names.end(), tag) != names.end();
        });
        text += known ? " You probably made a nesting mistake. Jinja is expecting this tag, but "
                        "currently looking for "
                      : " Jinja was looking for the following tags: ";
        text += quoted_choice(ends_.back());
        text += '.';
    }
    if (!tags_.empty()) {
        text += concat(" The innermost block that needs to be closed is '", tags_.back(), "'.");
    }
    return error(text);
}

/// Up to one of the end tags (its name is the current token then), or to the end of the template.
Result<Block> Parser::block(const EndNames& ends) {
    const Nesting nesting(nesting_);
    TRY_VOID(check_nesting());
    Block out;
    if (!ends.empty()) ends_.push_back(ends);
    while (now().kind != TokenKind::kEnd) {
        if (now().kind == TokenKind::kData) {
            out.push_back(make_stmt(StmtKind::kText, now().line));
            out.back()->constant = constant_text(now().text);
            next();
        } else if (now().kind == TokenKind::kPrintBegin) {
            TRY(StmtPtr stmt, print());
            out.push_back(std::move(stmt));
        } else {
            next();
            const auto is_end = [this](std::string_view name) { return now().is_name(name); };
            if (std::any_of(ends.begin(), ends.end(), is_end)) {
                ends_.pop_back();
                return out;
            }
            TRY(StmtPtr stmt, statement());
            out.push_back(std::move(stmt));
            TRY_VOID(expect(TokenKind::kTagEnd));
        }
    }
    if (!ends.empty()) return unexpected_end("");
    return out;
}

Result<Block> Parser::body(const EndNames& ends) {
    skip_op(":");
    TRY_VOID(expect(TokenKind::kTagEnd));
    return block(ends);
}

Result<StmtPtr> Parser::print() {
    StmtPtr stmt = make_stmt(StmtKind::kPrint, now().line);
    next();
    TRY(stmt->expr, tuple(Conditional::kAllowed));
    TRY_VOID(expect(TokenKind::kPrintEnd));
    return stmt;
}

Result<StmtPtr> Parser::statement() {
    if (now().kind != TokenKind::kName) return error("tag name expected");
    const std::string tag = now().text;
    const int line = now().line;
    tags_.push_back(tag);
    TRY(StmtPtr stmt, statement_of(tag, line));
    tags_.pop_back();
    return stmt;
}

Result<StmtPtr> Parser::statement_of(const std::string& tag, int line) {
    constexpr std::string_view kRefused[] = {"include", "import",     "from", "extends",
                                             "block",   "autoescape", "do",   "trans"};
    if (std::find(std::begin(kRefused), std::end(kRefused), tag) != std::end(kRefused)) {
        return error("the tag '", tag, "' is not supported in a chat template");
    }
    if (tag == "for") return for_loop(line);
    if (tag == "if") return if_chain(line);
    if (tag == "set") return set(line);
    if (tag == "macro") return macro(line);
    if (tag == "call") return call_block(line);
    if (tag == "filter") return filter_block(line);
    if (tag == "with") return with(line);
    if (tag == "print") return print_tag(line);
    if (tag == "break") return loop_control(StmtKind::kBreak, line);
    if (tag == "continue") return loop_control(StmtKind::kContinue, line);
    if (tag == "generation") {
        next();
        StmtPtr stmt = make_stmt(StmtKind::kScope, line);
        TRY(stmt->body, macro_body(*stmt, "endgeneration"));
        return stmt;
    }
    tags_.pop_back();
    return unexpected_end(tag);
}

Result<ExprPtr> Parser::target_item(bool attributes) {
    if (now().is_op("(")) {
        next();
        TRY(ExprPtr inner, target(attributes));
        TRY_VOID(expect_op(")"));
        return inner;
    }
    const int line = now().line;
    TRY(const std::string name, expect_name());
    constexpr std::string_view kConstants[] = {"true", "True", "false", "False", "none", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), name) != std::end(kConstants)) {
        return error_at(line, "can't assign to '", name, "'");
    }
    if (name == "loop" && loops_ > 0) {
        return error_at(line, "Can't assign to special loop variable in for-loop");
    }
    ExprPtr node = make(ExprKind::kName, line);
    node->text = name;
    if (attributes && skip_op(".")) {
        node = make(ExprKind::kAttribute, line, std::move(node));
        TRY(node->text, expect_name());
    }
    return node;
}

/// What can be assigned to: names, tuples of them, and in `set` attributes of a namespace.
Result<ExprPtr> Parser::target(bool attributes) {
    const Nesting nesting(nesting_);
    TRY_VOID(check_nesting());
    const int line = now().line;
    TRY(ExprPtr first, target_item(attributes));
    if (!now().is_op(",")) return first;
    ExprPtr all = make(ExprKind::kTuple, line, std::move(first));
    while (skip_op(",")) {
        if (now().is_name("in") || now().is_op(")") || now().is_op("=")) break;
        TRY(ExprPtr item, target_item(attributes));
        all->args.push_back(std::move(item));
    }
    return all;
}

Result<StmtPtr> Parser::for_loop(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kFor, line);
    ++loops_;
    TRY(stmt->target, target(false));
    --loops_;
    if (!skip_name("in")) return error("expected token 'in', got ", describe(now()));
    TRY(stmt->expr, tuple(Conditional::kNotAllowed, "recursive"));
    if (skip_name("if")) {
        TRY(stmt->test, expression());
    }
    stmt->recursive = skip_name("recursive");
    ++loops_;
    TRY(stmt->body, body({"endfor", "else"}));
    --loops_;
    const bool has_else = now().is_name("else");
    next();
    if (has_else) {
        TRY(stmt->other, body({"endfor"}));
        next();
    }
    return stmt;
}

Result<StmtPtr> Parser::if_chain(int line) {
    StmtPtr stmt = make_stmt(StmtKind::kIf, line);
    do {
        next();
        Branch branch;
        TRY(branch.test, tuple(Conditional::kNotAllowed));
        TRY(branch.body, body({"elif", "else", "endif"}));
        stmt->branches.push_back(std::move(branch));
    } while (now().is_name("elif"));
    const bool has_else = now().is_name("else");
    next();
    if (has_else) {
        TRY(stmt->other, body({"endif"}));
        next();
    }
    return stmt;
}

Result<StmtPtr> Parser::set(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kSet, line);
    TRY(stmt->target, target(true));
    if (skip_op("=")) {
        TRY(stmt->expr, tuple(Conditional::kAllowed));
        return stmt;
    }
    stmt->kind = StmtKind::kSetBlock;
    if (now().is_op("|")) {
        TRY(stmt->expr, filters(make(ExprKind::kHole, line), false));
    }
    TRY(stmt->body, body({"endset"}));
    next();
    return stmt;
}

Result<void> Parser::signature(Stmt& stmt) {
    TRY_VOID(expect_op("("));
    while (!now().is_op(")")) {
        if (!stmt.params.empty()) {
            TRY_VOID(expect_op(","));
        }
        Param param;
        const int line = now().line;
        TRY(const std::string name, expect_name());
        param.target = make(ExprKind::kName, line);
        param.target->text = name;
        if (skip_op("=")) {
            TRY(param.value, expression());
        } else if (!stmt.params.empty() && stmt.params.back().value) {
            return error("non-default argument follows default argument");
        }
        stmt.params.push_back(std::move(param));
    }
    next();
    return {};
}

Result<Block> Parser::macro_body(Stmt& stmt, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    macros_.push_back(&stmt);
    TRY(Block out, body({end}));
    macros_.pop_back();
    loops_ = loops;
    next();
    return out;
}

Result<StmtPtr> Parser::macro(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kMacro, line);
    TRY(stmt->text, expect_name());
    TRY_VOID(signature(*stmt));
    TRY(stmt->body, macro_body(*stmt, "endmacro"));
    return stmt;
}

Result<StmtPtr> Parser::call_block(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kCallBlock, line);
    stmt->text = "caller";
    if (now().is_op("(")) {
        TRY_VOID(signature(*stmt));
    }
    TRY(stmt->expr, expression());
    if (stmt->expr->kind != ExprKind::kCall) return error("expected call");
    TRY(stmt->body, macro_body(*stmt, "endcall"));
    return stmt;
}

Result<StmtPtr> Parser::filter_block(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kFilterBlock, line);
    TRY(stmt->expr, filters(make(ExprKind::kHole, line), true));
    TRY(stmt->body, body({"endfilter"}));
    next();
    return stmt;
}

Result<StmtPtr> Parser::with(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kWith, line);
    while (now().kind != TokenKind::kTagEnd) {
        if (!stmt->params.empty()) {
            TRY_VOID(expect_op(","));
        }
        Param param;
        TRY(param.target, target_item(false));
        TRY_VOID(expect_op("="));
        TRY(param.value, expression());
        stmt->params.push_back(std::move(param));
    }
    TRY(stmt->body, body({"endwith"}));
    next();
    return stmt;
}

/// `{% print a, b %}` prints both, one after the other.
Result<StmtPtr> Parser::print_tag(int line) {
    next();
    StmtPtr stmt = make_stmt(StmtKind::kPrint, line);
    stmt->expr = make(ExprKind::kConcat, line);
    while (now().kind != TokenKind::kTagEnd) {
        if (!stmt->expr->args.empty()) {
            TRY_VOID(expect_op(","));
        }
        TRY(ExprPtr item, expression());
        stmt->expr->args.push_back(std::move(item));
    }
    return stmt;
}

Result<StmtPtr> Parser::loop_control(StmtKind kind, int line) {
    if (loops_ == 0) {
        return error("'", now().text, "' outside of a loop");
    }
    next();
    return make_stmt(kind, line);
}

}  // namespace

Result<Template> parse_template(std::string_view source) {
    if (source.size() > kSourceBytesMax) {
        return bad(concat("the template has ", source.size(), " bytes, at most ", kSourceBytesMax,
                          " are allowed"));
    }
    if (!is_utf8(source)) return bad("the template is not valid UTF-8");
    TRY(std::vector<Token> tokens, tokenize_template(source));
    return Parser(std::move(tokens)).run();
}

}  // namespace weir::jinja
