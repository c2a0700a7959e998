#pragma once

#include <cstdint>
#include <string>

namespace weir {

enum class Activation { kSilu, kGeluTanh };

/// What the forward pass needs to know about a decoder-only transformer; filled from a GGUF (later from
/// config.json) by model/ with the family's rules of model/families.def.
struct ModelConfig {
    std::string family;         // "llama", "gemma3": the row of families.def.
    std::string architecture;   // "LlamaForCausalLM": what logs show.
    std::string name;           // general.name, may be empty.
    int32_t num_layers = 0;
    int32_t hidden_size = 0;
    int32_t intermediate_size = 0;
    int32_t num_heads = 0;
    int32_t num_kv_heads = 0;
    int32_t head_dim = 0;
    int32_t vocab_size = 0;
    int32_t max_position_embeddings = 0;  // The model's context length.
    float rms_norm_eps = 1e-5F;
    Activation activation = Activation::kSilu;

    float rope_theta = 10000.0F;        // Of layers with full attention.
    float rope_theta_local = 10000.0F;  // Of layers with a sliding window.
    bool rope_interleaved = false;      // Pairs (2i, 2i+1), as GGUF's llama permutes them; else halves.
    float query_scale = 0.0F;           // Usually 1 / sqrt(head_dim).
    float embedding_scale = 1.0F;       // gemma: sqrt(hidden_size).
    int32_t sliding_window = 0;         // 0: all layers attend fully.
    int32_t full_attention_interval = 1;  // Layer i attends fully if (i + 1) % this == 0 (gemma3: 6).
    bool qk_norm = false;               // RMS norm of q and k per head (gemma3, qwen3).
    bool post_norms = false;            // Norms after attention and MLP (gemma).
    bool norm_adds_one = false;         // HF's gemma weights are w - 1; GGUF's already hold w.
    bool tied_embeddings = true;        // lm_head is token_embd.
    float attention_soft_cap = 0.0F;
    float logit_soft_cap = 0.0F;

    bool attends_fully(int32_t layer) const {
        return sliding_window == 0 || (layer + 1) % full_attention_interval == 0;
    }
};

}  // namespace weir
