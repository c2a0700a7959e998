#include "layers/rotary.h"

#include <cmath>

namespace weir {

Rotary::Rotary(int32_t head_dim, float theta, bool interleaved)
    : half_(head_dim / 2), interleaved_(interleaved), frequencies_(static_cast<size_t>(half_)) {
    for (int32_t i = 0; i < half_; ++i) {
        const double exponent = -2.0 * i / head_dim;
        frequencies_[static_cast<size_t>(i)] = static_cast<float>(std::pow(double{theta}, exponent));
    }
}

void Rotary::angles(int32_t position, std::span<float> out) const {
    for (int32_t i = 0; i < half_; ++i) {
        // The angle is rounded to float as the models' own code does it: they were trained so.
        const float angle = static_cast<float>(position) * frequencies_[static_cast<size_t>(i)];
        out[static_cast<size_t>(i)] = static_cast<float>(std::cos(double{angle}));
        out[static_cast<size_t>(half_ + i)] = static_cast<float>(std::sin(double{angle}));
    }
}

void Rotary::rotate(std::span<const float> angles, float* head) const {
    const float* cosines = angles.data();
    const float* sines = angles.data() + half_;
    const int32_t step = interleaved_ ? 2 : 1;
    const int32_t partner = interleaved_ ? 1 : half_;
    for (int32_t i = 0; i < half_; ++i) {
        float& a = head[i * step];
        float& b = head[i * step + partner];
        const float turned = a * cosines[i] - b * sines[i];
        b = a * sines[i] + b * cosines[i];
        a = turned;
    }
}

}  // namespace weir
