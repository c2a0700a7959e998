#include "cmd/gguf_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weir {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kPre = "tokenizer.ggml.pre";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";

/// The reader's refusal, as one about the tokenizer.
template <typename T>
Result<T> as_tokenizer_error(Result<T> result) {
    if (!result) result.error().code = ErrorCode::kBadTokenizer;
    return result;
}

Result<std::vector<std::string>> read_strings(const GgufFile& file, std::string_view key) {
    TRY(const auto views, as_tokenizer_error(file.get_strings(key)));
    return std::vector<std::string>(views.begin(), views.end());
}

/// kNoToken if the key is missing, or says "none" (all bits set, as some converters write it).
Result<TokenId> read_id(const GgufFile& file, std::string_view key, size_t num_tokens,
                        std::vector<std::string>& warnings) {
    if (!file.has(key)) return kNoToken;
    TRY(const int64_t id, as_tokenizer_error(file.get_int(key)));
    if (id == -1 || id == int64_t{UINT32_MAX}) {
        warnings.push_back(concat(key, " is ", id, ": read as \"none\""));
        return kNoToken;
    }
    if (id < 0 || id >= static_cast<int64_t>(num_tokens)) {
        return fail(ErrorCode::kBadTokenizer,
                    concat(file.path(), ": ", key, " is ", id, ", but the vocabulary has ",
                           num_tokens, " tokens"));
    }
    return static_cast<TokenId>(id);
}

Result<bool> read_flag(const GgufFile& file, std::string_view key, bool if_missing) {
    if (!file.has(key)) return if_missing;
    return as_tokenizer_error(file.get_bool(key));
}

Result<void> read_vocabulary(const GgufFile& file, TokenizerSpec& spec) {
    TRY(spec.tokens, read_strings(file, kTokens));
    const size_t num_tokens = spec.tokens.size();
    if (num_tokens == 0) {
        return fail(ErrorCode::kBadTokenizer, concat(file.path(), ": ", kTokens, " has no tokens"));
    }
    const auto same_count = [&](std::string_view key, size_t count) -> Result<void> {
        if (count == num_tokens) return {};
        return fail(ErrorCode::kBadTokenizer, concat(file.path(), ": ", key, " has ", count,
                                                     " elements for ", num_tokens, " tokens"));
    };
    if (file.has(kTypes)) {
        TRY(const auto types, as_tokenizer_error(file.get_i32s(kTypes)));
        TRY_VOID(same_count(kTypes, types.size()));
        for (size_t i = 0; i < types.size(); ++i) {
            if (types[i] < 0 || types[i] > static_cast<int32_t>(TokenType::kByte)) {
                return fail(ErrorCode::kBadTokenizer, concat(file.path(), ": ", kTypes, "[", i,
                                                             "] is ", types[i], ", not 0 to 6"));
            }
            spec.types.push_back(static_cast<TokenType>(types[i]));
        }
    }
    if (file.has(kScores)) {
        TRY(spec.scores, as_tokenizer_error(file.get_f32s(kScores)));
        TRY_VOID(same_count(kScores, spec.scores.size()));
    }
    if (file.has(kMerges)) {
        TRY(spec.merges, read_strings(file, kMerges));
    }
    return {};
}

/// SentencePiece models were trained with BOS and a blank in front; byte-level ones without.
Result<void> read_options(const GgufFile& file, GgufTokenizer& out) {
    TokenizerSpec& spec = out.spec;
    const bool sentence_piece = spec.model == "llama";
    const size_t num_tokens = spec.tokens.size();
    const auto id_of = [&](std::string_view name) {
        return read_id(file, concat("tokenizer.ggml.", name, "_token_id"), num_tokens,
                       out.warnings);
    };
    TRY(spec.bos, id_of("bos"));
    TRY(spec.eos, id_of("eos"));
    TRY(spec.unk, id_of("unknown"));
    TRY(const TokenId eot, id_of("eot"));
    TRY(const TokenId eom, id_of("eom"));
    for (const TokenId id : {spec.eos, eot, eom}) {
        const bool known =
            std::find(out.stop_ids.begin(), out.stop_ids.end(), id) != out.stop_ids.end();
        if (id != kNoToken && !known) out.stop_ids.push_back(id);
    }
    if (out.stop_ids.empty()) {
        out.warnings.push_back(
            "tokenizer.ggml.eos_token_id is missing: generation ends only by length or a stop "
            "string");
    }
    TRY(spec.add_bos, read_flag(file, "tokenizer.ggml.add_bos_token", sentence_piece));
    TRY(spec.add_eos, read_flag(file, "tokenizer.ggml.add_eos_token", false));
    TRY(spec.add_space_prefix, read_flag(file, "tokenizer.ggml.add_space_prefix", sentence_piece));
    return {};
}

}  // namespace

Result<GgufTokenizer> read_gguf_tokenizer(const GgufFile& file) {
    GgufTokenizer out;
    TRY(out.spec.model, as_tokenizer_error(file.get_string(kModel)));
    TRY_VOID(read_vocabulary(file, out.spec));
    if (out.spec.model == "llama") {
        // Merges follow from the scores; a list beside them is of no use.
        if (!out.spec.scores.empty()) out.spec.merges.clear();
    } else if (file.has(kPre)) {
        TRY(out.spec.pre, as_tokenizer_error(file.get_string(kPre)));
    } else {
        out.spec.pre = "default";
        out.warnings.push_back(concat(kPre,
                                      " is missing: \"default\" (GPT-2's pattern) is assumed, "
                                      "text may be split wrongly and answers be worse"));
    }
    TRY_VOID(read_options(file, out));
    if (file.has("tokenizer.chat_template")) {
        TRY(out.chat_template, as_tokenizer_error(file.get_string("tokenizer.chat_template")));
    }
    return out;
}

}  // namespace weir
