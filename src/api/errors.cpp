#include "api/errors.h"

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr const char* kRetryAfterSeconds = "1";

}  // namespace

// A code that errors.def lacks is a compile error: -Wswitch.
ErrorInfo error_info(ErrorCode code) {
    switch (code) {
#define WEIR_ERROR(name, status, type, log_code) \
    case ErrorCode::name:                        \
        return {status, type, log_code};
#include "api/errors.def"
#undef WEIR_ERROR
    }
    CHECK(false);
}

std::string error_json(const Error& error) {
    const ErrorInfo info = error_info(error.code);
    std::string out = "{\"error\":{\"message\":";
    append_json_string(out, error.text);
    out += ",\"type\":";
    append_json_string(out, info.type);
    out += ",\"param\":";
    if (error.param.empty()) {
        out += "null";
    } else {
        append_json_string(out, error.param);
    }
    out += concat(",\"code\":", info.status, "}}");
    return out;
}

HttpResponse error_response(const Error& error) {
    HttpResponse response = json_response(error_info(error.code).status, error_json(error));
    if (error.code == ErrorCode::kQueueFull) {
        response.headers.emplace_back("Retry-After", kRetryAfterSeconds);
    }
    return response;
}

HttpResponse detail_response(int status, std::string_view text) {
    std::string body = "{\"detail\":";
    append_json_string(body, text);
    body += '}';
    return json_response(status, std::move(body));
}

HttpResponse json_response(int status, std::string body) {
    return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

HttpResponse text_response(int status, std::string_view text) {
    return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(text)};
}

Error parameter_error(std::string_view param, std::string_view text, std::string_view value) {
    return {ErrorCode::kBadRequest,
            concat(text, " (parameter=", param, ", value=", shorten(value, 200), ")"),
            std::string(param)};
}

Error parameter_error(std::string_view param, std::string_view text) {
    return {ErrorCode::kBadRequest, concat(text, " (parameter=", param, ")"), std::string(param)};
}

}  // namespace weir
