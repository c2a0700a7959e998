#include "api/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir {

StopMatcher::StopMatcher(const std::vector<std::string>& stops, bool include) : include_(include) {
    for (const std::string& stop : stops) {
        CHECK(!stop.empty());
        Pattern pattern{stop, std::vector<int32_t>(stop.size() + 1), 0};
        pattern.fail[0] = -1;
        int32_t border = -1;
        for (size_t i = 0; i < stop.size(); ++i) {
            while (border >= 0 && stop[static_cast<size_t>(border)] != stop[i]) {
                border = pattern.fail[static_cast<size_t>(border)];
            }
            pattern.fail[i + 1] = ++border;
        }
        patterns_.push_back(std::move(pattern));
    }
}

/// True if the pattern is complete with `c`; its state is then the longest border, for what
/// follows.
bool StopMatcher::advance(Pattern& pattern, char c) const {
    int32_t state = pattern.matched;
    while (state >= 0 && pattern.text[static_cast<size_t>(state)] != c) {
        state = pattern.fail[static_cast<size_t>(state)];
    }
    ++state;
    const bool complete = state == static_cast<int32_t>(pattern.text.size());
    pattern.matched = complete ? pattern.fail[static_cast<size_t>(state)] : state;
    return complete;
}

StopMatcher::Found StopMatcher::push(std::string_view piece, bool may_stop) {
    if (patterns_.empty()) return {-1, std::string(piece)};
    for (size_t i = 0; i < piece.size(); ++i) {
        int32_t found = -1;
        for (size_t p = 0; p < patterns_.size(); ++p) {
            const bool complete = advance(patterns_[p], piece[i]);
            if (complete && may_stop && found < 0) found = static_cast<int32_t>(p);
        }
        if (found < 0) continue;
        std::string text = std::move(held_);
        held_.clear();
        text.append(piece.substr(0, i + 1));
        const size_t stop_size = patterns_[static_cast<size_t>(found)].text.size();
        // While nothing is held back (include), the match may reach into text that has gone out.
        if (!include_) text.resize(text.size() - stop_size);
        return {found, std::move(text)};
    }
    std::string text = std::move(held_);
    held_.clear();
    text.append(piece);
    if (include_) return {-1, std::move(text)};
    int32_t hold = 0;
    for (const Pattern& pattern : patterns_) hold = std::max(hold, pattern.matched);
    const size_t keep = text.size() - static_cast<size_t>(hold);
    held_.assign(text, keep);
    text.resize(keep);
    return {-1, std::move(text)};
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace weir
