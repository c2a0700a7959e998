#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "tokenizer/string_index.h"

namespace weir {

/// A word of at most 15 bytes, packed with its length: compared and hashed without touching memory.
struct PackedWord {
    static constexpr size_t kBytesMax = 15;
    uint64_t low;
    uint64_t high;  // The length in the top byte.

    /// CHECKs nothing: text.size() <= kBytesMax.
    static PackedWord pack(std::string_view text) {
        const char* data = text.data();
        const size_t size = text.size();
        PackedWord out{0, uint64_t{size} << 56};
        if (size >= 8) {
            std::memcpy(&out.low, data, 8);
            uint64_t last;  // The last 8 bytes overlap the first ones; shifted into place.
            std::memcpy(&last, data + size - 8, 8);
            out.high |= size == 8 ? 0 : last >> (8 * (16 - size));
        } else if (size >= 4) {
            uint32_t first;
            uint32_t last;
            std::memcpy(&first, data, 4);
            std::memcpy(&last, data + size - 4, 4);
            out.low = first | uint64_t{last} << (8 * (size - 4));
        } else if (size > 0) {
            // Bytes 0, middle and last: one, two or three different ones, without a branch.
            const auto byte = [&](size_t i) {
                return uint64_t{static_cast<unsigned char>(data[i])};
            };
            out.low =
                byte(0) | byte(size / 2) << (8 * (size / 2)) | byte(size - 1) << (8 * (size - 1));
        }
        return out;
    }
    bool operator==(const PackedWord&) const = default;
    uint64_t hash() const {
        const uint64_t mixed = (low ^ std::rotl(high, 29)) * 0x9e3779b97f4a7c15ULL;
        return (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ULL >> 24;
    }
};

/// Words that are one token, so that most words of a text need no merging: one look-up in one cache
/// line. Filled once, then read by any number of threads.
class WordTable {
 public:
    explicit WordTable(size_t num_words) : slots_(std::bit_ceil(num_words + num_words / 3 + 2)) {}

    /// CHECK-free: at most num_words words, each once.
    void insert(std::string_view word, TokenId id) {
        if (word.size() > PackedWord::kBytesMax) {
            long_words_.emplace_back(word);
            long_ids_.push_back(id);
            return;
        }
        const PackedWord key = PackedWord::pack(word);
        size_t slot = key.hash() & (slots_.size() - 1);
        while (slots_[slot].id != kNoToken) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = {key, id};
    }
    /// After the last insert().
    void finish() { long_index_.build(long_words_); }

    /// kNoToken if the word is not in the table.
    TokenId find(std::string_view word) const {
        if (word.size() > PackedWord::kBytesMax) {
            const TokenId index = long_index_.find(word, long_words_);
            return index == kNoToken ? kNoToken : long_ids_[static_cast<size_t>(index)];
        }
        const PackedWord key = PackedWord::pack(word);
        for (size_t slot = key.hash() & (slots_.size() - 1); slots_[slot].id != kNoToken;
             slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].key == key) return slots_[slot].id;
        }
        return kNoToken;
    }

 private:
    struct Slot {
        PackedWord key{0, 0};
        TokenId id = kNoToken;
    };
    std::vector<Slot> slots_;
    std::vector<std::string> long_words_;
    std::vector<TokenId> long_ids_;
    StringIndex long_index_;
};

}  // namespace weir
