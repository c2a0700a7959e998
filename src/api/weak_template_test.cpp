#include "tokenizer/chat_template.h"
namespace weir {
__attribute__((weak)) Result<std::unique_ptr<ChatTemplate>> parse_chat_template(std::string) { return fail(ErrorCode::kBadTemplate, "weak"); }
}
