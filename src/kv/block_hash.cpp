#include "kv/block_hash.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "base/random.h"
#include "kv/planted_bug.h"

namespace weir {
namespace {

constexpr std::string_view kNoneSeed = "vllm-none-hash";
constexpr uint8_t kTagSalt = 's';

BlockHash hash_fast(const BlockHash& parent, std::span<const TokenId> token_ids,
                    const BlockExtraKeys& extra) {
    uint64_t hash = mix64(parent.words[0] ^ token_ids.size());
    for (TokenId token : token_ids) hash = mix64(hash ^ static_cast<uint32_t>(token));
    if (!extra.cache_salt.empty()) {
        hash = mix64(hash ^ (uint64_t{kTagSalt} << 56) ^ extra.cache_salt.size());
        for (char c : extra.cache_salt) hash = mix64(hash ^ static_cast<uint8_t>(c));
    }
    return BlockHash{{hash, 0, 0, 0}};
}

}  // namespace

/// OpenSSL picks SHA instructions where the CPU has them. The context lives on, so that hashing a
/// block in a steady decode allocates nothing.
struct BlockHasher::Sha256 {
    EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    EVP_MD_CTX* context = EVP_MD_CTX_new();

    ~Sha256() {
        EVP_MD_CTX_free(context);
        EVP_MD_free(algorithm);
    }
    void begin() { CHECK(EVP_DigestInit_ex2(context, algorithm, nullptr) == 1); }
    void add(const void* data, size_t bytes) { CHECK(EVP_DigestUpdate(context, data, bytes) == 1); }
    BlockHash end() {
        BlockHash hash;
        unsigned bytes = 0;
        CHECK(EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(hash.words.data()),
                                 &bytes) == 1);
        CHECK(bytes == sizeof(hash.words));
        return hash;
    }
};

std::optional<BlockHashAlgo> parse_block_hash_algo(std::string_view name) {
    if (name == "sha256" || name == "sha256_cbor") return BlockHashAlgo::kSha256;
    if (name == "xxhash" || name == "xxhash_cbor") return BlockHashAlgo::kFast;
    return std::nullopt;
}

BlockHasher::BlockHasher(BlockHashAlgo algo) : algo_(algo) {
    if (algo_ == BlockHashAlgo::kFast) {
        for (char c : kNoneSeed) none_hash_.words[0] = mix64(none_hash_.words[0] ^ uint8_t(c));
        return;
    }
    sha256_ = std::make_unique<Sha256>();
    CHECK(sha256_->algorithm != nullptr && sha256_->context != nullptr);
    sha256_->begin();
    sha256_->add(kNoneSeed.data(), kNoneSeed.size());
    none_hash_ = sha256_->end();
}

BlockHasher::~BlockHasher() = default;

BlockHash BlockHasher::hash(const BlockHash& parent, std::span<const TokenId> token_ids,
                            const BlockExtraKeys& extra) {
    const BlockExtraKeys keys = PLANTED(kSaltIgnored) ? BlockExtraKeys{} : extra;
    const BlockHash& before = PLANTED(kParentIgnored) ? none_hash_ : parent;
    return algo_ == BlockHashAlgo::kFast ? hash_fast(before, token_ids, keys)
                                         : hash_sha256(before, token_ids, keys);
}

BlockHash BlockHasher::hash_sha256(const BlockHash& parent, std::span<const TokenId> token_ids,
                                   const BlockExtraKeys& extra) {
    // Every field has a fixed size or its length before it: two different inputs never give the
    // same bytes.
    const uint64_t num_tokens = token_ids.size();
    sha256_->begin();
    sha256_->add(parent.words.data(), sizeof(parent.words));
    sha256_->add(&num_tokens, sizeof(num_tokens));
    sha256_->add(token_ids.data(), token_ids.size_bytes());
    if (!extra.cache_salt.empty()) {
        const uint64_t bytes = extra.cache_salt.size();
        sha256_->add(&kTagSalt, sizeof(kTagSalt));
        sha256_->add(&bytes, sizeof(bytes));
        sha256_->add(extra.cache_salt.data(), bytes);
    }
    return sha256_->end();
}

}  // namespace weir
