#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"

namespace weir {

struct ErrorInfo {
    int status;
    const char* type;      // vLLM's word in error.type.
    const char* log_code;  // Stable word for logs and metrics.
};

ErrorInfo error_info(ErrorCode code);

/// {"error":{"message","type","param","code"}} (reference 5.2).
std::string error_json(const Error& error);
/// The same as a whole answer; a full queue adds Retry-After.
HttpResponse error_response(const Error& error);
/// {"detail": text}: unknown paths, wrong methods, bodies that are not text.
HttpResponse detail_response(int status, std::string_view text);
HttpResponse json_response(int status, std::string body);
HttpResponse text_response(int status, std::string_view text);

/// A semantic error of one field: "text (parameter=p, value=v)".
Error parameter_error(std::string_view param, std::string_view text, std::string_view value);
/// The same without a value: "text (parameter=p)".
Error parameter_error(std::string_view param, std::string_view text);

}  // namespace weir
