#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "kernels/aligned_buffer.h"
#include "kernels/kernel_table.h"
#include "kernels/panels.h"
#include "model/model_files.h"
#include "threads/fork_join.h"

namespace weir {

using NormWeights = std::vector<float>;  // Empty: the layer has no such norm.

struct LayerWeights {
    NormWeights attention_norm;
    NormWeights q_norm;
    NormWeights k_norm;
    NormWeights post_attention_norm;
    NormWeights mlp_norm;
    NormWeights post_mlp_norm;
    PanelMatrix q, k, v, o;
    PanelMatrix gate, up, down;
};

/// A model's weights as the kernels want them. Matrices are repacked into memory of our own and the file's pages
/// dropped, so that only one copy stays.
struct ModelWeights {
    std::shared_ptr<ModelFiles> files;  // Input embeddings are read from it if they are not tied.
    AlignedBuffer storage;
    std::vector<LayerWeights> layers;
    NormWeights final_norm;
    PanelMatrix lm_head;
    bool tied_embeddings = true;

    /// Row `token` of the input embeddings, not scaled.
    void embedding(TokenId token, std::span<float> out) const;
};

/// Fails with kBadModelFile if a tensor is missing, kOutOfMemory if there is no room.
Result<ModelWeights> load_weights(std::shared_ptr<ModelFiles> files, const KernelTable& table,
                                  ForkJoin& pool);

/// What load_weights will hold in memory.
Result<int64_t> packed_weight_bytes(const ModelFiles& files, int32_t panel_width);

}  // namespace weir
