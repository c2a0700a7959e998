// Feeds bytes to the request parser twice, in pieces drawn from the input and as a whole: both
// must end alike, and no bound may be exceeded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "net/request_parser.h"

namespace {

constexpr weir::RequestLimits kLimits{
    .header_bytes_max = 4096, .header_count_max = 16, .body_bytes_max = 4096};

std::string run(std::string_view bytes, size_t step) {
    using State = weir::RequestParser::State;
    weir::RequestParser parser(kLimits);
    std::string out;
    while (true) {
        const size_t used = parser.feed(bytes.substr(0, step));
        CHECK(used <= step);
        bytes.remove_prefix(used);
        if (parser.state() == State::kHeaderDone) {
            parser.read_body();
        } else if (parser.state() == State::kDone) {
            const weir::HttpRequest request = parser.take_request();
            CHECK(request.headers.size() <= 16);
            CHECK(request.body.size() <= 4096);
            CHECK(!request.path.empty());
            out += weir::concat(request.method, " ", request.target, " ", request.body, "\n");
        } else if (parser.state() == State::kFailed) {
            CHECK(parser.error().status >= 400);
            return out + parser.error().text;
        } else if (bytes.empty()) {
            return out;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const size_t step = 1 + data[0] % 64;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    CHECK(run(bytes, step) == run(bytes, bytes.size() + 1));
    return 0;
}
