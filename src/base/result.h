#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace weir {

/// What went wrong, by the caller's point of view. api/errors.def maps each to an HTTP status,
/// vLLM's error type and a log code.
enum class ErrorCode {
    kBadSchema,       // A request's fields have the wrong shape or type (vLLM: 400 "Bad Request").
    kBadRequest,      // A value is out of range or makes no sense (400 "BadRequestError").
    kModelNotFound,   // 404 "NotFoundError".
    kQueueFull,       // Too many requests wait: 503 with Retry-After.
    kUnavailable,     // Starting, stopping, or the engine is dead: 503.
    kNotImplemented,  // 501.
    kInternal,        // 500.
    kBadFlag,         // Command line: unknown flag or bad value (exit 2).
    kBadConfig,       // Values that do not fit together (exit 1).
    kFileNotFound,    // A file is missing or cannot be opened.
    kBadModelFile,    // A model file is damaged, hostile or not supported.
    kBadTokenizer,    // Tokenizer metadata is damaged or not supported.
    kBadTemplate,     // A chat template does not parse, or failed while rendering.
    kKvPoolTooSmall,  // The KV cache cannot hold one request of max_model_len.
    kOutOfMemory,     // The machine has less memory than asked for.
    kIo,              // The operating system refused (port in use, disk full ...).
};

/// `text` says what was found, what was needed and what to do. `param` names the field or flag it
/// is about ("max_tokens"), or is empty.
struct Error {
    ErrorCode code;
    std::string text;
    std::string param;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string text) {
    return tl::unexpected<Error>(Error{code, std::move(text), {}});
}

inline tl::unexpected<Error> fail(ErrorCode code, std::string text, std::string param) {
    return tl::unexpected<Error>(Error{code, std::move(text), std::move(param)});
}

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

/// `TRY(auto value, call());` passes the error up, or binds the value.
#define TRY(value, ...) WEIR_TRY_IMPL(WEIR_CONCAT(weir_try_, __COUNTER__), value, __VA_ARGS__)
#define WEIR_TRY_IMPL(temporary, value, ...)                               \
    auto temporary = (__VA_ARGS__);                                        \
    if (!temporary) return ::tl::unexpected(std::move(temporary.error())); \
    value = std::move(*temporary)

/// The same for a `Result<void>`.
#define TRY_VOID(...) WEIR_TRY_VOID_IMPL(WEIR_CONCAT(weir_try_, __COUNTER__), __VA_ARGS__)
#define WEIR_TRY_VOID_IMPL(temporary, ...) \
    auto temporary = (__VA_ARGS__);        \
    if (!temporary) return ::tl::unexpected(std::move(temporary.error()))
