#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// Rotary position embedding (Su et al. 2021): pair i of a head turns by position * theta^(-2i / head_dim).
class Rotary {
   public:
    Rotary(int32_t head_dim, float theta, bool interleaved);

    /// Cosines and sines of one position: [head_dim / 2] of each, one after the other.
    void angles(int32_t position, std::span<float> out) const;
    /// Turns one head [head_dim] in place.
    void rotate(std::span<const float> angles, float* head) const;

   private:
    int32_t half_;
    bool interleaved_;  // Pairs (2i, 2i + 1); else (i, i + half).
    std::vector<float> frequencies_;
};

}  // namespace weir
