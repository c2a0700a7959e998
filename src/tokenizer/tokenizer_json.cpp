#include "tokenizer/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/quoted.h"
#include "tokenizer/split_patterns.h"

namespace weir {
namespace {

constexpr std::string_view kBlank = "\xe2\x96\x81";  // U+2581.
constexpr int kDepthMax = 8;                         // Of Sequence in Sequence.

tl::unexpected<Error> bad(std::string_view part, std::string_view what) {
    return fail(ErrorCode::kBadTokenizer, concat("tokenizer.json: ", part, ": ", what));
}

std::string_view string_of(const Json& object, std::string_view name) {
    const Json& value = object[name];
    return value.is_string() ? std::string_view(value.as_string()) : std::string_view();
}
bool flag_of(const Json& object, std::string_view name, bool if_missing) {
    const Json& value = object[name];
    return value.is_bool() ? value.as_bool() : if_missing;
}

tl::unexpected<Error> unknown_type(std::string_view part, const Json& object) {
    return bad(part, concat("type ", quoted(string_of(object, "type")), " is not supported"));
}

/// The parts of a Sequence in order, or the one part itself; none for null.
Result<std::vector<const Json*>> flatten(std::string_view part, std::string_view list,
                                         const Json& json, int depth = 0) {
    std::vector<const Json*> out;
    if (json.is_null()) return out;
    if (string_of(json, "type") != "Sequence") return std::vector<const Json*>{&json};
    if (depth == kDepthMax) return bad(part, "a Sequence is nested too deep");
    if (!json[list].is_array()) return bad(part, concat("Sequence without ", list));
    for (const Json& item : json[list].items()) {
        TRY(const auto inner, flatten(part, list, item, depth + 1));
        out.insert(out.end(), inner.begin(), inner.end());
    }
    return out;
}

/// What the normalizer says, besides what goes into the spec.
struct Blanks {
    bool escaped = false;  // " " becomes U+2581.
};

Result<Blanks> read_normalizer(const Json& json, TokenizerSpec& spec) {
    Blanks blanks;
    TRY(const auto parts, flatten("normalizer", "normalizers", json));
    for (const Json* part : parts) {
        const std::string_view type = string_of(*part, "type");
        if (type == "NFC") {
            spec.normalize_nfc = true;
        } else if (type == "Lowercase") {
            spec.normalize_lowercase = true;
        } else if (type == "Prepend" && string_of(*part, "prepend") == kBlank) {
            spec.add_space_prefix = true;
        } else if (type == "Replace" && string_of((*part)["pattern"], "String") == " " &&
                   string_of(*part, "content") == kBlank) {
            blanks.escaped = true;
        } else {
            return unknown_type("normalizer", *part);
        }
    }
    return blanks;
}

Result<void> read_split(const Json& part, TokenizerSpec& spec) {
    const Json& regex = part["pattern"]["Regex"];
    if (!regex.is_string()) return bad("pre_tokenizer", "Split without a Regex");
    const std::string_view behavior = string_of(part, "behavior");
    const bool invert = flag_of(part, "invert", false);
    // Removing what does not match leaves the matches; published patterns leave nothing unmatched.
    if (!(behavior == "Isolated" && !invert) && !(behavior == "Removed" && invert)) {
        return bad("pre_tokenizer",
                   concat("Split with behavior ", quoted(behavior), " is not supported"));
    }
    spec.split_patterns.push_back(regex.as_string());
    return {};
}

Result<void> read_metaspace(const Json& part, TokenizerSpec& spec) {
    const std::string_view scheme = string_of(part, "prepend_scheme");
    if (string_of(part, "replacement") != kBlank || (scheme != "always" && scheme != "never")) {
        return bad("pre_tokenizer",
                   concat("Metaspace with prepend_scheme ", quoted(scheme), " is not supported"));
    }
    spec.add_space_prefix = scheme == "always";
    return {};
}

/// Decides between the two models as well.
Result<void> read_pre_tokenizer(const Json& json, Blanks blanks, TokenizerSpec& spec) {
    TRY(const auto parts, flatten("pre_tokenizer", "pretokenizers", json));
    bool byte_level = false;
    bool metaspace = false;
    for (const Json* part : parts) {
        const std::string_view type = string_of(*part, "type");
        if (type == "ByteLevel") {
            if (flag_of(*part, "add_prefix_space", true)) {
                return bad("pre_tokenizer", "ByteLevel with add_prefix_space is not supported");
            }
            byte_level = true;
            if (flag_of(*part, "use_regex", true)) {
                spec.split_patterns.emplace_back(split_patterns::kGpt2);
            }
        } else if (type == "Digits") {
            spec.split_patterns.emplace_back(flag_of(*part, "individual_digits", false)
                                                 ? split_patterns::kEachDigit
                                                 : split_patterns::kDigits);
        } else if (type == "Metaspace") {
            metaspace = true;
            TRY_VOID(read_metaspace(*part, spec));
        } else if (type == "Split" && blanks.escaped &&
                   string_of((*part)["pattern"], "String") == " ") {
            continue;  // No blank is left to split at.
        } else if (type == "Split") {
            TRY_VOID(read_split(*part, spec));
        } else {
            return unknown_type("pre_tokenizer", *part);
        }
    }
    if (byte_level == (blanks.escaped || metaspace)) {
        return bad("pre_tokenizer", "neither byte-level BPE nor SentencePiece's blanks");
    }
    spec.model = byte_level ? "gpt2" : "llama";
    if (byte_level && spec.split_patterns.empty()) {
        spec.split_patterns.emplace_back(split_patterns::kWhole);
    }
    if (!byte_level && !spec.split_patterns.empty()) {
        return bad("pre_tokenizer", "patterns with SentencePiece's blanks are not supported");
    }
    return {};
}

Result<TokenId> read_id(std::string_view part, const Json& json) {
    if (!json.is_int() || json.as_int() < 0 || json.as_int() >= PairTable::kIdEnd) {
        return bad(part, concat("a token's id must be 0 to ", PairTable::kIdEnd - 1, ", it is ",
                                shorten(json.dump(), 60)));
    }
    return static_cast<TokenId>(json.as_int());
}

Result<void> read_merges(const Json& json, TokenizerSpec& spec) {
    if (!json.is_array()) return bad("model", "merges must be an array");
    for (const Json& merge : json.items()) {
        if (merge.is_string()) {
            spec.merges.push_back(merge.as_string());
        } else if (merge.size() == 2 && merge[0].is_string() && merge[1].is_string() &&
                   merge[0].as_string().find(' ') == std::string::npos) {
            spec.merges.push_back(concat(merge[0].as_string(), ' ', merge[1].as_string()));
        } else {
            return bad("model",
                       concat("a merge must be two strings, it is ", shorten(merge.dump(), 60)));
        }
    }
    return {};
}

Result<void> read_model(const Json& model, TokenizerSpec& spec) {
    if (string_of(model, "type") != "BPE") return unknown_type("model", model);
    for (const std::string_view name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!string_of(model, name).empty()) return bad("model", concat(name, " is not supported"));
    }
    if (!model["vocab"].is_object()) return bad("model", "vocab must be an object");
    const std::string_view unk = string_of(model, "unk_token");
    for (const JsonMember& member : model["vocab"].members()) {
        TRY(const TokenId id, read_id("model.vocab", member.value));
        const auto index = static_cast<size_t>(id);
        if (spec.tokens.size() <= index) spec.tokens.resize(index + 1);
        spec.tokens[index] = member.name;
        if (member.name == unk) spec.unk = id;
    }
    spec.byte_fallback = flag_of(model, "byte_fallback", false);
    spec.ignore_merges = flag_of(model, "ignore_merges", false);
    return read_merges(model["merges"], spec);
}

Result<void> read_added_tokens(const Json& json, const Json& vocab, TokenizerSpec& spec) {
    if (json.is_null()) return {};
    if (!json.is_array()) return bad("added_tokens", "must be an array");
    const Normalizer normalizer{spec.normalize_nfc, spec.normalize_lowercase};
    std::unordered_map<std::string_view, TokenId> ids;
    for (const JsonMember& member : vocab.members()) {
        ids.emplace(member.name, static_cast<TokenId>(member.value.as_int()));
    }
    for (const Json& item : json.items()) {
        AddedToken token;
        token.text = string_of(item, "content");
        token.special = flag_of(item, "special", false);
        token.lstrip = flag_of(item, "lstrip", false);
        token.rstrip = flag_of(item, "rstrip", false);
        token.single_word = flag_of(item, "single_word", false);
        token.normalized = flag_of(item, "normalized", !token.special);
        const auto known = ids.find(token.text);
        if (known != ids.end()) {
            token.id = known->second;  // The model's own id counts.
        } else {
            TRY(token.id, read_id("added_tokens", item["id"]));
        }
        const auto index = static_cast<size_t>(token.id);
        if (spec.tokens.size() <= index) spec.tokens.resize(index + 1);
        if (known == ids.end()) spec.tokens[index] = token.text;
        if (token.normalized && !token.special) token.text = normalizer.apply(token.text);
        spec.added.push_back(std::move(token));
    }
    return {};
}

/// TemplateProcessing: a special token before the sequence is BOS, one behind it EOS.
Result<void> read_post_processor(const Json& json, TokenizerSpec& spec) {
    TRY(const auto parts, flatten("post_processor", "processors", json));
    for (const Json* part : parts) {
        if (string_of(*part, "type") == "ByteLevel") continue;  // Offsets only.
        const Json& single = (*part)["single"];
        if (string_of(*part, "type") != "TemplateProcessing" || !single.is_array()) {
            return unknown_type("post_processor", *part);
        }
        bool behind = false;
        for (const Json& piece : single.items()) {
            if (piece.find("Sequence")) {
                behind = true;
                continue;
            }
            const std::string_view name = string_of(piece["SpecialToken"], "id");
            const Json& ids = (*part)["special_tokens"][name]["ids"];
            if (ids.size() != 1) return bad("post_processor", "a special token without its id");
            TRY(const TokenId id, read_id("post_processor", ids[0]));
            if (behind ? spec.add_eos : spec.add_bos) {
                return bad("post_processor",
                           "several special tokens on one side are not supported");
            }
            (behind ? spec.eos : spec.bos) = id;
            (behind ? spec.add_eos : spec.add_bos) = true;
        }
    }
    return {};
}

}  // namespace

Result<TokenizerSpec> read_tokenizer_json(const Json& json) {
    TokenizerSpec spec;
    spec.add_space_prefix = false;
    TRY(const Blanks blanks, read_normalizer(json["normalizer"], spec));
    TRY_VOID(read_pre_tokenizer(json["pre_tokenizer"], blanks, spec));
    TRY_VOID(read_model(json["model"], spec));
    TRY_VOID(read_added_tokens(json["added_tokens"], json["model"]["vocab"], spec));
    TRY_VOID(read_post_processor(json["post_processor"], spec));
    return spec;
}

Result<void> read_tokenizer_config(const Json& config, TokenizerSpec& spec) {
    const auto find = [&](std::string_view name, TokenId& id) -> Result<void> {
        const Json& value = config[name];
        const Json& text = value.is_object() ? value["content"] : value;
        if (!text.is_string()) return {};
        const auto at = std::find(spec.tokens.begin(), spec.tokens.end(), text.as_string());
        if (at == spec.tokens.end()) {
            return fail(ErrorCode::kBadTokenizer, concat("tokenizer_config.json: ", name, " ",
                                                         quoted(text.as_string()), " is no token"));
        }
        id = static_cast<TokenId>(at - spec.tokens.begin());
        return {};
    };
    TRY_VOID(find("bos_token", spec.bos));
    TRY_VOID(find("eos_token", spec.eos));
    return {};
}

}  // namespace weir
