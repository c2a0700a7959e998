#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/types.h"

namespace weir {

/// Hash of a string for tables that live as long as their model; not for hostile keys that are inserted.
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
        for (size_t i = 0; i < strings.size(); ++i) {
            const uint64_t hash = hash_bytes(strings[i]);
            size_t slot = hash & (slots_.size() - 1);
            const auto tag = static_cast<uint32_t>(hash >> 32);
            bool known = false;
            while (slots_[slot].index != kNoToken && !known) {
                known = slots_[slot].tag == tag &&
                        strings[static_cast<size_t>(slots_[slot].index)] == strings[i];
                slot = (slot + 1) & (slots_.size() - 1);
            }
            if (!known) slots_[slot] = {tag, static_cast<TokenId>(i)};
        }
    }

    /// kNoToken if there is none. `strings` is what build() got.
    template <typename Strings>
    TokenId find(std::string_view text, const Strings& strings) const {
        if (slots_.empty()) return kNoToken;
        const uint64_t hash = hash_bytes(text);
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
    struct Slot {
        uint32_t tag;
        TokenId index;
    };
    std::vector<Slot> slots_;
};

}  // namespace weir
