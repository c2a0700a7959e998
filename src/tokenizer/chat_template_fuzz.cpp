// Templates and the data they render, both hostile: the input is a template, a zero byte, and a
// JSON object.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "tokenizer/jinja_check.h"
#include "tokenizer/jinja_context.h"
#include "tokenizer/jinja_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t border = std::min(input.find('\0'), size);
    const auto parsed = weir::jinja::parse_template(input.substr(0, border));
    if (!parsed) return 0;
    if (!weir::jinja::check_names(*parsed)) return 0;
    (void)weir::jinja::loops_over_content(*parsed);
    weir::Json names;
    if (border < size) {
        auto json = weir::parse_json(input.substr(border + 1));
        if (json) names = std::move(*json);
    }
    std::vector<weir::jinja::ContextEntry> context;
    if (names.is_object()) {
        for (const weir::JsonMember& member : names.members()) {
            context.push_back({member.name, &member.value, false});
        }
    }
    const weir::jinja::Limits limits{.steps_max = 20'000,
                                     .live_bytes_max = size_t{32} << 20,
                                     .eval_depth_max = 300,
                                     .macro_depth_max = 30};
    const auto text = weir::jinja::render(*parsed, limits, {}, context);
    CHECK(!text || weir::is_utf8(text->view()));
    CHECK(text || !text.error().text.empty());
    return 0;
}
