#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/model_config.h"

namespace weir {

/// What a GGUF does not say about the architecture that it names: a row of families.def.
struct Family {
    const char* name;          // general.architecture.
    const char* architecture;  // The class in Hugging Face's config.json.
    Activation activation = Activation::kSilu;
    bool rope_interleaved = false;
    bool qk_norm = false;
    bool post_norms = false;
    bool embedding_scaled = false;       // By sqrt(hidden_size).
    bool sliding_window = false;         // Needs attention.sliding_window.
    int32_t full_attention_interval = 1;
    float rope_theta_local = 10000.0F;   // If rope.freq_base_swa does not say.
};

std::span<const Family> families();
/// Null if unknown.
const Family* find_family(std::string_view name);
/// "gemma3, llama".
std::string family_names();

}  // namespace weir
