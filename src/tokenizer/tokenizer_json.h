#pragma once

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// What a Hugging Face tokenizer.json defines. Known are BPE models, byte-level or with
/// SentencePiece's blanks, as the published families have them; anything else fails with
/// kBadTokenizer and names the part ("pre_tokenizer: type ..."): a wrong cut would spoil answers
/// silently.
Result<TokenizerSpec> read_tokenizer_json(const Json& json);

/// Fills bos and eos out of tokenizer_config.json, which names them by their text. Fails with
/// kBadTokenizer if a text is no token.
Result<void> read_tokenizer_config(const Json& config, TokenizerSpec& spec);

}  // namespace weir
