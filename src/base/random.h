#pragma once

#include <cstdint>
#include <string>

namespace weir {

/// Mixes 64 bits (SplitMix64's finaliser, Steele et al. 2014).
constexpr uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// A generator with an owner: a value, copied and passed, never global. SplitMix64.
class Random {
 public:
    explicit constexpr Random(uint64_t seed) : seed_(seed), state_(seed) {}

    constexpr uint64_t next() {
        const uint64_t value = mix64(state_);
        state_ += 0x9e3779b97f4a7c15ULL;
        return value;
    }
    /// Uniform in [0, bound), bound > 0. The bias below 2^-32 does not matter here.
    constexpr int64_t below(int64_t bound) {
        return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
    }
    /// Uniform in [low, high], both ends included.
    constexpr int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
    /// Uniform in [0, 1) with 53 bits.
    constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
    constexpr bool chance(double probability) { return uniform() < probability; }

    /// "replay: WEIR_SEED=7", for failure messages.
    std::string replay() const { return "replay: WEIR_SEED=" + std::to_string(seed_); }
    constexpr uint64_t seed() const { return seed_; }

 private:
    uint64_t seed_;
    uint64_t state_;
};

}  // namespace weir
