#include "tokenizer/added_token_matcher.h"

#include <algorithm>

namespace weir {

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens, const CharClasses& classes)
    : tokens_(std::move(tokens)), classes_(&classes) {
    std::erase_if(tokens_, [](const AddedToken& token) { return token.text.empty(); });
    std::stable_sort(tokens_.begin(), tokens_.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
    const auto same = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
    tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
    uint32_t index = 0;
    for (size_t byte = 0; byte < 256; ++byte) {
        first_byte_begin_[byte] = index;
        while (index < tokens_.size() && static_cast<uint8_t>(tokens_[index].text[0]) == byte)
            ++index;
    }
    first_byte_begin_[256] = index;
}

bool AddedTokenMatcher::allowed(const AddedToken& token, std::string_view text, size_t pos,
                                const std::vector<TrustedRange>& trusted) const {
    const size_t end = pos + token.text.size();
    if (token.special) {
        const auto after =
            std::upper_bound(trusted.begin(), trusted.end(), pos,
                             [](size_t at, const TrustedRange& range) { return at < range.begin; });
        if (after == trusted.begin() || std::prev(after)->end < end) return false;
    }
    return !token.single_word ||
           (!classes_->word_char_before(text, pos) && !classes_->word_char_at(text, end));
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::match_at(
    std::string_view text, size_t pos, size_t from,
    const std::vector<TrustedRange>& trusted) const {
    // tokens_[low, high) begin with text[pos, pos + depth); the shortest of them stands first.
    const auto first = static_cast<uint8_t>(text[pos]);
    size_t low = first_byte_begin_[first];
    size_t high = first_byte_begin_[first + 1u];
    const AddedToken* best = nullptr;
    for (size_t depth = 1; low < high; ++depth) {
        if (tokens_[low].text.size() == depth) {
            if (allowed(tokens_[low], text, pos, trusted)) best = &tokens_[low];
            ++low;
        }
        if (pos + depth == text.size()) break;
        const auto next = static_cast<uint8_t>(text[pos + depth]);
        const auto byte_of = [&](const AddedToken& token) {
            return static_cast<uint8_t>(token.text[depth]);
        };
        const auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(low);
        const auto end = tokens_.begin() + static_cast<std::ptrdiff_t>(high);
        const auto left = std::partition_point(
            begin, end, [&](const AddedToken& token) { return byte_of(token) < next; });
        const auto right = std::partition_point(
            left, end, [&](const AddedToken& token) { return byte_of(token) == next; });
        low = static_cast<size_t>(left - tokens_.begin());
        high = static_cast<size_t>(right - tokens_.begin());
    }
    if (!best) return std::nullopt;
    Match match{pos, pos + best->text.size(), best->id};
    if (best->lstrip) match.begin = std::max(from, classes_->space_run_begin(text, pos));
    if (best->rstrip) match.end = classes_->space_run_end(text, match.end);
    return match;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::find(
    std::string_view text, size_t from, const std::vector<TrustedRange>& trusted) const {
    for (size_t pos = from; pos < text.size(); ++pos) {
        const auto byte = static_cast<uint8_t>(text[pos]);
        if (first_byte_begin_[byte] == first_byte_begin_[byte + 1u]) [[likely]]
            continue;
        if (auto match = match_at(text, pos, from, trusted)) return match;
    }
    return std::nullopt;
}

}  // namespace weir
