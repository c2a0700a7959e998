#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_lexer.h"

namespace weir::jinja {

/// The expression half of the parser: recursive descent over the tokens, as jinja2's precedences
/// are.
class ExprParser {
 public:
    explicit ExprParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
    enum class Conditional {
        kAllowed,
        kNotAllowed
    };  // An inline if: `for x in a if b` must not eat it.

    const Token& now() const { return tokens_[pos_]; }
    const Token& ahead() const { return tokens_[std::min(pos_ + 1, tokens_.size() - 1)]; }
    void next() {
        if (pos_ + 1 < tokens_.size()) ++pos_;
    }
    bool skip_op(std::string_view op);
    bool skip_name(std::string_view name);
    Result<void> expect_op(std::string_view op);
    Result<void> expect(TokenKind kind);
    Result<std::string> expect_name();
    static std::string describe(const Token& token);
    static std::string describe(TokenKind kind);
    tl::unexpected<Error> error(const auto&... pieces) const {
        return error_at(now().line, pieces...);
    }
    static tl::unexpected<Error> error_at(int line, const auto&... pieces) {
        return fail(ErrorCode::kBadTemplate, concat("line ", line, ": ", pieces...));
    }

    Result<ExprPtr> expression(Conditional conditional = Conditional::kAllowed);
    /// a, b, c without brackets, or one expression. `end_name` ends it as a bracket does.
    Result<ExprPtr> tuple(Conditional conditional, std::string_view end_name = "");
    /// |filter|filter ... over `node`, the first one without its bar if `started`.
    Result<ExprPtr> filters(ExprPtr node, bool started);
    ExprPtr make(ExprKind kind, int line, ExprPtr first = nullptr) const;

    /// One more level of brackets or tags for as long as it lives.
    class Nesting {
     public:
        explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;
        ~Nesting() { --depth_; }

     private:
        int& depth_;
    };
    Result<void> check_nesting() const;

    int nesting_ = 0;
    std::vector<Stmt*>
        macros_;  // Around the place being parsed; they learn which special names it uses.

 private:
    Result<ExprPtr> logic(ExprKind kind);
    Result<ExprPtr> negation();
    Result<ExprPtr> comparison();
    Result<ExprPtr> chain(int precedence);
    Result<ExprPtr> unary(bool with_filters);
    Result<ExprPtr> primary();
    Result<ExprPtr> name();
    Result<ExprPtr> number();
    Result<ExprPtr> string();
    Result<ExprPtr> parenthesis();
    Result<ExprPtr> list();
    Result<ExprPtr> dict();
    Result<ExprPtr> postfix(ExprPtr node);
    Result<ExprPtr> postfix_and_filters(ExprPtr node);
    Result<ExprPtr> attribute(ExprPtr node);
    Result<ExprPtr> subscript(ExprPtr node);
    Result<ExprPtr> slice(ExprPtr node, ExprPtr start);
    Result<ExprPtr> filter(ExprPtr node);
    Result<ExprPtr> test(ExprPtr node);
    Result<std::string> dotted_name();
    /// Appends to node.args and node.call.
    Result<void> arguments(Expr& node);
    Result<void> argument(Expr& node, CallShape& shape);
    /// Sets the depth and refuses what is too deep.
    Result<ExprPtr> finish(ExprPtr node) const;
    bool at_tuple_end(std::string_view end_name) const;

    std::vector<Token> tokens_;
    size_t pos_ = 0;
};

/// A text value of a template.
Value constant_text(std::string_view text);

}  // namespace weir::jinja
