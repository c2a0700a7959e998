#include "tokenizer/score_merges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace weir {
namespace {

// A longer token is never made by merging: cutting a hostile one takes quadratic time.
constexpr size_t kMergedBytesMax = 512;

struct Cut {
    BpeMerge merge;
    uint32_t left_chars;
    uint32_t right_chars;
};

/// A place where a token could be cut. The look-ups of all places of a token are in flight
/// together: the index of a large vocabulary does not fit into the caches.
struct Place {
    uint32_t left_bytes;
    uint64_t left_hash;
    uint64_t right_hash;
};

class Cutter {
 public:
    explicit Cutter(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

    void append_cuts(TokenId id, std::vector<Cut>& out) {
        const std::string_view token = vocabulary_->string(id);
        if (token.size() > kMergedBytesMax) return;
        places_.clear();
        for (size_t cut = 1; cut < token.size(); ++cut) {
            if ((token[cut] & 0xc0) == 0x80) continue;
            const Place place{static_cast<uint32_t>(cut), hash_bytes(token.substr(0, cut)),
                              hash_bytes(token.substr(cut))};
            vocabulary_->prefetch(place.left_hash);
            vocabulary_->prefetch(place.right_hash);
            places_.push_back(place);
        }
        const auto chars = static_cast<uint32_t>(places_.size()) + 1;
        for (uint32_t i = 0; i < places_.size(); ++i) {
            const Place& place = places_[i];
            const TokenId left =
                vocabulary_->find_hashed(place.left_hash, token.substr(0, place.left_bytes));
            if (left == kNoToken) continue;
            const TokenId right =
                vocabulary_->find_hashed(place.right_hash, token.substr(place.left_bytes));
            if (right != kNoToken) out.push_back({{left, right, id}, i + 1, chars - i - 1});
        }
    }

 private:
    const Vocabulary* vocabulary_;
    std::vector<Place> places_;
};

}  // namespace

Result<std::vector<BpeMerge>> merges_from_scores(const Vocabulary& vocabulary,
                                                 const std::vector<float>& scores) {
    if (scores.size() != static_cast<size_t>(vocabulary.size())) {
        return fail(ErrorCode::kBadTokenizer, concat("the tokenizer has ", scores.size(),
                                                     " scores for ", vocabulary.size(), " tokens"));
    }
    if (std::any_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s); })) {
        return fail(ErrorCode::kBadTokenizer, "a score of the tokenizer is not a number");
    }
    const auto key = [&](TokenId id) {
        const bool user = vocabulary.type(id) == TokenType::kUserDefined;
        return std::pair(user ? 0 : 1, -scores[static_cast<size_t>(id)]);
    };
    std::vector<TokenId> ids(static_cast<size_t>(vocabulary.size()));
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) { return key(a) < key(b); });
    std::vector<BpeMerge> out;
    out.reserve(ids.size() * 2);
    std::vector<Cut> group;  // Cuts of tokens with one key.
    const auto flush = [&] {
        std::stable_sort(group.begin(), group.end(), [](const Cut& a, const Cut& b) {
            return std::tuple(b.left_chars, b.right_chars) <
                   std::tuple(a.left_chars, a.right_chars);
        });
        for (const Cut& cut : group) out.push_back(cut.merge);
        group.clear();
    };
    Cutter cutter(vocabulary);
    for (size_t i = 0; i < ids.size(); ++i) {
        if (i > 0 && key(ids[i]) != key(ids[i - 1])) flush();
        const TokenType type = vocabulary.type(ids[i]);
        if (type == TokenType::kNormal || type == TokenType::kUserDefined) {
            cutter.append_cuts(ids[i], group);
        }
    }
    flush();
    if (out.size() >= PairTable::kRankEnd) {
        return fail(ErrorCode::kBadTokenizer,
                    concat("the tokenizer has ", out.size(), " merges, at most ",
                           PairTable::kRankEnd - 1, " are supported"));
    }
    return out;
}

}  // namespace weir
