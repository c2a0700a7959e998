#include "api/logprob_text.h"

#include <algorithm>

#include "api/json_text.h"
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Length that the UTF-8 lead byte announces; 0: no lead byte.
size_t sequence_size(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return 2;
    if (lead >= 0xe0 && lead <= 0xef) return 3;
    if (lead >= 0xf0 && lead <= 0xf4) return 4;
    return 0;
}

/// Moves the whole characters of `bytes` into `text`, bad bytes as U+FFFD, and returns the rest,
/// which may be the begin of a character.
std::string take_characters(std::string_view bytes, std::string& text) {
    while (!bytes.empty()) {
        const size_t size = sequence_size(static_cast<unsigned char>(bytes[0]));
        if (size > bytes.size()) {
            const bool open =
                std::ranges::all_of(bytes.substr(1), [](char c) { return (c & 0xc0) == 0x80; });
            if (open) return std::string(bytes);
        }
        if (size > 0 && size <= bytes.size() && is_utf8(bytes.substr(0, size))) {
            text.append(bytes.substr(0, size));
            bytes.remove_prefix(size);
        } else {
            text += kReplacement;
            bytes.remove_prefix(1);
        }
    }
    return {};
}

int64_t count_characters(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
}

void append_bytes(std::string& out, std::string_view bytes) {
    out += '[';
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (i > 0) out += ',';
        append_number(out, static_cast<int>(static_cast<unsigned char>(bytes[i])));
    }
    out += ']';
}

void append_chat_token(std::string& out, const TokenTexts& texts, const TokenLogprob& entry) {
    out += "{\"token\":";
    append_json_string(out, texts.text(entry.token));
    out += ",\"logprob\":";
    append_logprob(out, entry.logprob);
    out += ",\"bytes\":";
    append_bytes(out, texts.bytes(entry.token));
}

}  // namespace

std::string TokenTexts::text(TokenId id) const {
    if (as_ids_) return concat("token_id:", id);
    const std::string_view bytes = tokenizer_->token_bytes(id);
    if (is_utf8(bytes)) return std::string(bytes);
    std::string text;
    take_characters(pending_ + std::string(bytes), text);
    return text;
}

void TokenTexts::advance(TokenId id) {
    const std::string_view bytes = tokenizer_->token_bytes(id);
    if (pending_.empty() && is_utf8(bytes)) return;
    std::string text;
    pending_ = take_characters(pending_ + std::string(bytes), text);
}

std::vector<TokenLogprob> distinct_logprobs(std::span<const TokenLogprob> list, int32_t count) {
    std::vector<TokenLogprob> entries;
    if (list.empty()) return entries;
    const TokenLogprob& own = list.front();
    entries.push_back(own);
    const size_t most = count < 0 ? list.size() : static_cast<size_t>(count) + 1;
    for (size_t i = 1; i < list.size() && i < most; ++i) {
        if (list[i].token != own.token) entries.push_back(list[i]);
    }
    return entries;
}

void CompletionLogprobs::add(TokenTexts& texts, std::span<const TokenLogprob> list, int32_t count) {
    CHECK(!list.empty());
    const std::string own = texts.text(list.front().token);
    append_comma(tokens);
    append_json_string(tokens, own);
    append_comma(values);
    append_logprob(values, list.front().logprob);
    append_comma(offsets);
    append_number(offsets, next_offset);
    next_offset += count_characters(own);

    append_comma(tops);
    tops += '{';
    bool first = true;
    for (const TokenLogprob& entry : distinct_logprobs(list, count)) {
        if (!first) tops += ',';
        first = false;
        append_json_string(tops, texts.text(entry.token));
        tops += ':';
        append_logprob(tops, entry.logprob);
    }
    tops += '}';
    texts.advance(list.front().token);
}

void CompletionLogprobs::add_first(TokenTexts& texts, TokenId token) {
    const std::string own = texts.text(token);
    append_json_string(tokens, own);
    values += "null";
    tops += "null";
    append_number(offsets, next_offset);
    next_offset += count_characters(own);
    texts.advance(token);
}

void CompletionLogprobs::append_to(std::string& out) const {
    out += "{\"text_offset\":[";
    out += offsets;
    out += "],\"token_logprobs\":[";
    out += values;
    out += "],\"tokens\":[";
    out += tokens;
    out += "],\"top_logprobs\":[";
    out += tops;
    out += "]}";
}

void CompletionLogprobs::clear() {
    tokens.clear();
    values.clear();
    tops.clear();
    offsets.clear();
}

void append_chat_logprob(std::string& out, TokenTexts& texts, std::span<const TokenLogprob> list,
                         int32_t count) {
    CHECK(!list.empty());
    append_comma(out);
    append_chat_token(out, texts, list.front());
    out += ",\"top_logprobs\":[";
    std::vector<TokenLogprob> entries = distinct_logprobs(list, count);
    // The sampled token takes one of the `count` places (reference 5.4).
    if (count >= 0 && entries.size() > static_cast<size_t>(count)) {
        entries.resize(static_cast<size_t>(count));
    }
    for (size_t i = 0; i < entries.size(); ++i) {
        if (i > 0) out += ',';
        append_chat_token(out, texts, entries[i]);
        out += '}';
    }
    out += "]}";
    texts.advance(list.front().token);
}

std::string prompt_logprobs_json(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                 const std::vector<OutputPromptLogprobs>& entries, int32_t count) {
    TokenTexts texts(tokenizer, false);
    std::vector<const OutputPromptLogprobs*> at(prompt.size());
    for (const OutputPromptLogprobs& entry : entries) {
        CHECK(entry.position >= 0 && static_cast<size_t>(entry.position) < prompt.size());
        at[static_cast<size_t>(entry.position)] = &entry;
    }
    std::string out = "[";
    for (size_t i = 0; i < prompt.size(); ++i) {
        if (i > 0) out += ',';
        if (!at[i]) {
            out += "null";
        } else {
            out += '{';
            bool first = true;
            for (const TokenLogprob& entry : distinct_logprobs(at[i]->logprobs, count)) {
                if (!first) out += ',';
                first = false;
                out += '"';
                append_number(out, entry.token);
                out += "\":{\"logprob\":";
                append_logprob(out, entry.logprob);
                out += ",\"rank\":";
                append_number(out, entry.rank);
                out += ",\"decoded_token\":";
                append_json_string(out, texts.text(entry.token));
                out += '}';
            }
            out += '}';
        }
        texts.advance(prompt[i]);
    }
    out += ']';
    return out;
}

}  // namespace weir
