#include "api/json_body.h"

#include <string>

#include "api/errors.h"
#include "api/fields.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_json_type(const std::string* content_type) {
    if (!content_type) return false;
    const std::string_view type = split(*content_type, ';').front();
    return equals_ignore_case(trim(type), "application/json");
}

/// parse_json() says "... at offset N: why"; vLLM's param is "body.N".
Error json_error(const Error& error) {
    constexpr std::string_view kMark = "at offset ";
    std::string where = "body";
    const size_t mark = error.text.find(kMark);
    if (mark != std::string::npos) {
        const size_t begin = mark + kMark.size();
        where += "." + error.text.substr(begin, error.text.find(':', begin) - begin);
    }
    return schema_error({{where, error.text, ""}});
}

}  // namespace

tl::expected<Json, HttpResponse> read_json_body(const HttpRequest& request) {
    const std::string* encoding = request.header("content-encoding");
    if (encoding && !equals_ignore_case(trim(*encoding), "identity")) {
        return tl::unexpected(
            detail_response(415, concat("Content-Encoding ", shorten(*encoding, 40),
                                        " is not supported; send the body unencoded")));
    }
    if (!is_json_type(request.header("content-type"))) {
        return tl::unexpected(error_response(
            {ErrorCode::kBadSchema,
             "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed",
             ""}));
    }
    std::string_view text = request.body;
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (text.empty()) {
        return tl::unexpected(error_response(schema_error({{"body", "Field required", "None"}})));
    }
    if (!is_utf8(text)) {
        return tl::unexpected(detail_response(400, "There was an error parsing the body"));
    }
    Result<Json> body = parse_json(text);
    if (!body) return tl::unexpected(error_response(json_error(body.error())));
    return std::move(*body);
}

}  // namespace weir
