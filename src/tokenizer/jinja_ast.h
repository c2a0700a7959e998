#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/jinja_value.h"

namespace weir::jinja {

enum class ExprKind {
    kConstant,   // constant
    kName,       // text
    kList,       // args
    kTuple,      // args
    kDict,       // args: key, value, key, value ...
    kAttribute,  // args[0].text
    kItem,       // args[0][args[1]]
    kSlice,      // args[0][args[1]:args[2]:args[3]], null where left out
    kCall,       // args[0](args[1...]); call
    kFilter,     // args[0]|text(args[1...]); call
    kTest,       // args[0] is text(args[1...]); call
    kNot,
    kNegate,
    kPlus,
    kAnd,      // args, in order
    kOr,       // args, in order
    kConcat,   // args joined by ~
    kChain,    // args[0] ops[0] args[1] ops[1] ...: of one precedence, from the left
    kCompare,  // the same, each with the next
    kIf,       // args[1] if args[0] else args[2] (may be null)
    kHole,     // The text that a filter block or a filtered set captured.
};

enum class Op {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kFloorDiv,
    kMod,
    kPow,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kIn,
    kNotIn
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// How args of a call are meant, beyond plain positional ones.
struct CallShape {
    std::vector<std::pair<std::string, ExprPtr>> named;
    ExprPtr star;         // *args
    ExprPtr double_star;  // **kwargs
};

struct Expr {
    ExprKind kind;
    int line = 0;
    int depth = 1;
    std::string text;
    Value constant;
    std::vector<ExprPtr> args;
    std::vector<Op> ops;
    std::unique_ptr<CallShape> call;  // Null if all arguments are positional.
};

enum class StmtKind {
    kText,         // constant
    kPrint,        // expr
    kFor,          // for target in expr if test: body else: other; recursive
    kIf,           // branches, other
    kSet,          // target = expr
    kSetBlock,     // target = captured body, through expr if there is one
    kMacro,        // text(params): body
    kCallBlock,    // expr is the call, params and body its caller()
    kFilterBlock,  // expr over the captured body
    kWith,         // params as name = value (evaluated outside): body
    kScope,        // generation: body in a scope of its own
    kBreak,
    kContinue,
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

struct Branch {
    ExprPtr test;
    Block body;
};
struct Param {
    ExprPtr target;  // A name; in `with` any target.
    ExprPtr value;   // Default, or null.
};

struct Stmt {
    StmtKind kind;
    int line = 0;
    std::string text;
    Value constant;
    ExprPtr target;
    ExprPtr expr;
    ExprPtr test;
    Block body;
    Block other;
    std::vector<Branch> branches;
    std::vector<Param> params;
    bool recursive = false;
    // Of macros: which special names the body uses.
    bool uses_caller = false;
    bool uses_varargs = false;
    bool uses_kwargs = false;
};

/// A parsed template. Immutable; values of its constants have no meter.
struct Template {
    Block body;
};

}  // namespace weir::jinja
