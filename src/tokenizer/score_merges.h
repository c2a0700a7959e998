#pragma once

#include <vector>

#include "base/result.h"
#include "tokenizer/bpe_merger.h"
#include "tokenizer/vocabulary.h"

namespace weir {

/// The merges of a SentencePiece model that only has scores (one per token): every way to
/// cut a token into two tokens is one. Order: user-defined tokens first, then by score; of one
/// score the longer left part, then the longer right part, in characters. So are the merges of the
/// tokenizer.json listed that Gemma 3 is published with (compared over all 514,906). Control tokens
/// are never made.
/// Fails with kBadTokenizer.
Result<std::vector<BpeMerge>> merges_from_scores(const Vocabulary& vocabulary,
                                                 const std::vector<float>& scores);

}  // namespace weir
