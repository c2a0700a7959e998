// The part of ExprParser that follows an operand: attributes, subscripts, calls, filters and tests.

#include <algorithm>

#include "tokenizer/jinja_expr_parser.h"

namespace weir::jinja {

Result<ExprPtr> ExprParser::postfix(ExprPtr node) {
    while (true) {
        if (now().is_op(".")) {
            TRY(node, attribute(std::move(node)));
        } else if (now().is_op("[")) {
            TRY(node, subscript(std::move(node)));
        } else if (now().is_op("(")) {
            ExprPtr call = make(ExprKind::kCall, now().line, std::move(node));
            TRY_VOID(arguments(*call));
            TRY(node, finish(std::move(call)));
        } else {
            return node;
        }
    }
}

Result<ExprPtr> ExprParser::postfix_and_filters(ExprPtr node) {
    while (true) {
        if (now().is_op("|")) {
            next();
            TRY(node, filter(std::move(node)));
        } else if (now().is_name("is")) {
            TRY(node, test(std::move(node)));
        } else if (now().is_op("(")) {  // `x|f(1)(2)` calls what the filter gives.
            ExprPtr call = make(ExprKind::kCall, now().line, std::move(node));
            TRY_VOID(arguments(*call));
            TRY(node, finish(std::move(call)));
        } else {
            return node;
        }
    }
}

Result<ExprPtr> ExprParser::attribute(ExprPtr node) {
    const int line = now().line;
    next();
    if (now().kind == TokenKind::kName) {
        ExprPtr out = make(ExprKind::kAttribute, line, std::move(node));
        out->text = now().text;
        next();
        return finish(std::move(out));
    }
    if (now().kind != TokenKind::kInteger) return error("expected name or number");
    ExprPtr out = make(ExprKind::kItem, line, std::move(node));
    TRY(ExprPtr index, number());
    out->args.push_back(std::move(index));
    return finish(std::move(out));
}

Result<ExprPtr> ExprParser::subscript(ExprPtr node) {
    const int line = now().line;
    next();
    ExprPtr key;
    if (!now().is_op(":")) {
        if (now().is_op("]")) return error("unexpected ", describe(now()));
        TRY(key, expression());
    }
    if (now().is_op(":")) return slice(std::move(node), std::move(key));
    if (now().is_op(",")) {
        ExprPtr keys = make(ExprKind::kTuple, line, std::move(key));
        while (skip_op(",")) {
            TRY(ExprPtr item, expression());
            keys->args.push_back(std::move(item));
        }
        TRY(key, finish(std::move(keys)));
    }
    TRY_VOID(expect_op("]"));
    ExprPtr out = make(ExprKind::kItem, line, std::move(node));
    out->args.push_back(std::move(key));
    return finish(std::move(out));
}

Result<ExprPtr> ExprParser::slice(ExprPtr node, ExprPtr start) {
    ExprPtr out = make(ExprKind::kSlice, now().line, std::move(node));
    out->args.push_back(std::move(start));
    for (int part = 1; part <= 2; ++part) {
        ExprPtr bound;
        if (skip_op(":") && !now().is_op(":") && !now().is_op("]")) {
            TRY(bound, expression());
        }
        out->args.push_back(std::move(bound));
    }
    TRY_VOID(expect_op("]"));
    return finish(std::move(out));
}

Result<std::string> ExprParser::dotted_name() {
    TRY(std::string name, expect_name());
    while (skip_op(".")) {
        TRY(const std::string part, expect_name());
        name += '.';
        name += part;
    }
    return name;
}

Result<ExprPtr> ExprParser::filter(ExprPtr node) {
    ExprPtr out = make(ExprKind::kFilter, now().line, std::move(node));
    TRY(out->text, dotted_name());
    if (now().is_op("(")) {
        TRY_VOID(arguments(*out));
    }
    return finish(std::move(out));
}

Result<ExprPtr> ExprParser::filters(ExprPtr node, bool started) {
    while (started || skip_op("|")) {
        started = false;
        TRY(node, filter(std::move(node)));
    }
    return node;
}

/// `is name`, `is not name`, `is name(arguments)`, `is name argument`.
Result<ExprPtr> ExprParser::test(ExprPtr node) {
    const int line = now().line;
    next();
    const bool negated = skip_name("not");
    ExprPtr out = make(ExprKind::kTest, line, std::move(node));
    TRY(out->text, dotted_name());
    constexpr std::string_view kOpeners[] = {"[", "{"};
    const bool literal = now().kind == TokenKind::kString || now().kind == TokenKind::kInteger ||
                         now().kind == TokenKind::kFloat ||
                         std::any_of(std::begin(kOpeners), std::end(kOpeners),
                                     [this](std::string_view op) { return now().is_op(op); });
    const bool word = now().kind == TokenKind::kName && !now().is_name("else") &&
                      !now().is_name("or") && !now().is_name("and");
    if (now().is_op("(")) {
        TRY_VOID(arguments(*out));
    } else if (literal || word) {
        if (now().is_name("is")) return error("You cannot chain multiple tests with is");
        TRY(ExprPtr argument, primary());
        TRY(argument, postfix(std::move(argument)));
        out->args.push_back(std::move(argument));
    }
    TRY(out, finish(std::move(out)));
    return negated ? finish(make(ExprKind::kNot, line, std::move(out))) : std::move(out);
}

Result<void> ExprParser::arguments(Expr& node) {
    next();
    CallShape shape;
    while (!now().is_op(")")) {
        TRY_VOID(argument(node, shape));
        if (!now().is_op(")")) {
            TRY_VOID(expect_op(","));
        }
    }
    next();
    if (!shape.named.empty() || shape.star || shape.double_star) {
        node.call = std::make_unique<CallShape>(std::move(shape));
    }
    return {};
}

Result<void> ExprParser::argument(Expr& node, CallShape& shape) {
    bool valid = !shape.double_star;
    if (now().is_op("*")) {
        valid = valid && !shape.star;
        next();
        TRY(shape.star, expression());
    } else if (now().is_op("**")) {
        next();
        TRY(shape.double_star, expression());
    } else if (now().kind == TokenKind::kName && ahead().is_op("=")) {
        std::string name = now().text;
        next();
        next();
        TRY(ExprPtr value, expression());
        for (const auto& [other, unused] : shape.named) {
            if (other == name) return error("keyword argument repeated: ", name);
        }
        shape.named.emplace_back(std::move(name), std::move(value));
    } else {
        valid = valid && !shape.star && shape.named.empty();
        TRY(ExprPtr value, expression());
        node.args.push_back(std::move(value));
    }
    if (!valid) return error("invalid syntax for function call expression");
    return {};
}

}  // namespace weir::jinja
