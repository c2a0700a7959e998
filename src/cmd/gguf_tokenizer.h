#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// What a GGUF file says about its tokenizer.
struct GgufTokenizer {
    TokenizerSpec spec;
    std::vector<TokenId> stop_ids;  // Tokens that end a generation: eos first, then eot and eom.
    std::string chat_template;      // tokenizer.chat_template; empty if there is none.
    std::vector<std::string> warnings;  // One line each, for the log and `weir model info`.
};

/// Reads the keys tokenizer.*. Fails with kBadTokenizer; the text names the key, what was found and
/// what was needed.
Result<GgufTokenizer> read_gguf_tokenizer(const GgufFile& file);

}  // namespace weir
