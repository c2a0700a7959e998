#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"

namespace weir {

/// Names the contents of a full block and, through its parent, of all blocks before it.
struct BlockHash {
    std::array<uint64_t, 4> words{};
    bool operator==(const BlockHash&) const = default;
};

/// kFast has 64 bits and no defence against made-up collisions: for virtual time, or where all
/// tenants trust each other.
enum class BlockHashAlgo { kSha256, kFast };

/// --prefix-caching-hash-algo: sha256, sha256_cbor, xxhash or xxhash_cbor. The encodings inside
/// are weir's own: hashes never leave the process.
std::optional<BlockHashAlgo> parse_block_hash_algo(std::string_view name);

/// What separates equal tokens, each with its own tag in the hash, so that an adapter named like a
/// salt shares nothing with it.
struct BlockExtraKeys {
    std::string_view cache_salt;  // Only for block 0; the chain carries it on.
};

/// The hash chain of reference 2.2: H(parent, tokens, extra keys). Reused from call to call;
/// allocates only in the constructor.
class BlockHasher {
 public:
    explicit BlockHasher(BlockHashAlgo algo);
    ~BlockHasher();
    BlockHasher(const BlockHasher&) = delete;
    BlockHasher& operator=(const BlockHasher&) = delete;

    /// The parent of every first block (NONE_HASH).
    const BlockHash& none_hash() const { return none_hash_; }
    BlockHash hash(const BlockHash& parent, std::span<const TokenId> token_ids,
                   const BlockExtraKeys& extra);

 private:
    struct Sha256;
    BlockHash hash_sha256(const BlockHash& parent, std::span<const TokenId> token_ids,
                          const BlockExtraKeys& extra);

    BlockHashAlgo algo_;
    std::unique_ptr<Sha256> sha256_;
    BlockHash none_hash_;
};

}  // namespace weir
