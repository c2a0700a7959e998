#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/types.h"

namespace weir {

/// Hash of a string for tables that live as long as their model; not for hostile keys that are
/// inserted.
inline uint64_t hash_bytes(std::string_view text) {
    uint64_t hash = text.size();
    size_t pos = 0;
    for (; pos + 8 <= text.size(); pos += 8) {
        uint64_t word;
        std::memcpy(&word, text.data() + pos, 8);
        hash = mix64(hash ^ word);
    }
    uint64_t word = 0;
    std::memcpy(&word, text.data() + pos, text.size() - pos);
    return mix64(hash ^ word);
}

/// Finds the index of a string in a vector that the caller keeps. 8 bytes a slot.
class StringIndex {
 public:
    StringIndex() = default;

    /// Indexes all strings; of equal ones the first.
    template <typename Strings>
    void build(const Strings& strings) {
        slots_.assign(std::bit_ceil(strings.size() * 2 + 2), Slot{0, kNoToken});
        std::array<uint64_t, kAhead> hashes;  // Of the strings to come: their slots are on the way.
        for (size_t i = 0; i < strings.size() + kAhead; ++i) {
            if (i >= kAhead) insert(i - kAhead, hashes[i % kAhead], strings);
            if (i >= strings.size()) continue;
            hashes[i % kAhead] = hash_bytes(strings[i]);
            prefetch(hashes[i % kAhead]);
        }
    }

    /// kNoToken if there is none. `strings` is what build() got.
    template <typename Strings>
    TokenId find(std::string_view text, const Strings& strings) const {
        return find_hashed(hash_bytes(text), text, strings);
    }

    /// find() in two steps, for many strings at once: the table is larger than the caches.
    void prefetch(uint64_t hash) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
    }
    template <typename Strings>
    TokenId find_hashed(uint64_t hash, std::string_view text, const Strings& strings) const {
        if (slots_.empty()) return kNoToken;
        const auto tag = static_cast<uint32_t>(hash >> 32);
        for (size_t slot = hash & (slots_.size() - 1); slots_[slot].index != kNoToken;
             slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].tag == tag &&
                strings[static_cast<size_t>(slots_[slot].index)] == text) {
                return slots_[slot].index;
            }
        }
        return kNoToken;
    }

 private:
    static constexpr size_t kAhead = 16;
    struct Slot {
        uint32_t tag;
        TokenId index;
    };

    template <typename Strings>
    void insert(size_t i, uint64_t hash, const Strings& strings) {
        const auto tag = static_cast<uint32_t>(hash >> 32);
        size_t slot = hash & (slots_.size() - 1);
        for (; slots_[slot].index != kNoToken; slot = (slot + 1) & (slots_.size() - 1)) {
            const auto known = static_cast<size_t>(slots_[slot].index);
            if (slots_[slot].tag == tag && strings[known] == strings[i]) return;
        }
        slots_[slot] = {tag, static_cast<TokenId>(i)};
    }

    std::vector<Slot> slots_;
};

}  // namespace weir
