#include "layers/weights.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {

namespace {

BlockFormat format_of(const TensorView& view) { return static_cast<BlockFormat>(view.type); }

/// A matrix to repack, and where its PanelMatrix goes.
struct MatrixSlot {
    std::string name;
    PanelMatrix LayerWeights::* member = nullptr;  // Null: lm_head.
    int32_t layer = 0;
};

std::vector<MatrixSlot> matrix_slots(const ModelConfig& config) {
    struct Entry {
        const char* name;
        PanelMatrix LayerWeights::* member;
    };
    // In the order in which a step reads them.
    constexpr Entry kEntries[] = {
        {"attn_q", &LayerWeights::q},        {"attn_k", &LayerWeights::k},
        {"attn_v", &LayerWeights::v},        {"attn_output", &LayerWeights::o},
        {"ffn_gate", &LayerWeights::gate},   {"ffn_up", &LayerWeights::up},
        {"ffn_down", &LayerWeights::down},
    };
    std::vector<MatrixSlot> slots;
    for (int32_t layer = 0; layer < config.num_layers; ++layer) {
        for (const Entry& entry : kEntries) {
            slots.push_back({concat("blk.", layer, ".", entry.name, ".weight"), entry.member, layer});
        }
    }
    slots.push_back({config.tied_embeddings ? "token_embd.weight" : "output.weight", nullptr, 0});
    return slots;
}

Result<const TensorView*> need(const ModelFiles& files, const std::string& name) {
    const TensorView* view = files.find(name);
    if (view) return view;
    return fail(ErrorCode::kBadModelFile,
                concat("the model file has no tensor ", name, ", which ",
                       files.config().architecture, " needs"));
}

Result<PanelMatrix> layout_of(const ModelFiles& files, const std::string& name, int32_t width) {
    TRY(const TensorView* view, need(files, name));
    return panel_layout(format_of(*view), static_cast<int32_t>(view->rows),
                        static_cast<int32_t>(view->cols), width);
}

Result<NormWeights> load_norm(const ModelFiles& files, const std::string& name, bool required) {
    const TensorView* view = files.find(name);
    if (!view && !required) return NormWeights{};
    TRY(view, need(files, name));
    NormWeights weights(static_cast<size_t>(view->rows * view->cols));
    dequantize_row(format_of(*view), view->data, weights);
    if (files.config().norm_adds_one) {
        for (float& weight : weights) weight += 1.0F;
    }
    return weights;
}

Result<void> load_norms(const ModelFiles& files, int32_t layer, LayerWeights& out) {
    const ModelConfig& config = files.config();
    const std::string prefix = concat("blk.", layer, ".");
    const auto load = [&](const char* name, bool required, NormWeights& into) -> Result<void> {
        if (!required) return {};
        TRY(into, load_norm(files, concat(prefix, name, ".weight"), required));
        return {};
    };
    TRY_VOID(load("attn_norm", true, out.attention_norm));
    TRY_VOID(load("ffn_norm", true, out.mlp_norm));
    TRY_VOID(load("attn_q_norm", config.qk_norm, out.q_norm));
    TRY_VOID(load("attn_k_norm", config.qk_norm, out.k_norm));
    TRY_VOID(load("post_attention_norm", config.post_norms, out.post_attention_norm));
    TRY_VOID(load("post_ffw_norm", config.post_norms, out.post_mlp_norm));
    return {};
}

/// Matrices start at cache lines.
int64_t padded_bytes(const PanelMatrix& matrix) { return round_up(matrix.bytes(), int64_t{64}); }

}  // namespace

void ModelWeights::embedding(TokenId token, std::span<float> out) const {
    if (tied_embeddings) {
        dequantize_panel_row(lm_head, token, out);
        return;
    }
    const TensorView& view = *files->find("token_embd.weight");
    CHECK(0 <= token && token < view.rows);
    const size_t row_bytes = view.data.size() / static_cast<size_t>(view.rows);
    dequantize_row(format_of(view), view.data.subspan(static_cast<size_t>(token) * row_bytes, row_bytes),
                   out);
}

Result<int64_t> packed_weight_bytes(const ModelFiles& files, int32_t panel_width) {
    int64_t bytes = 0;
    for (const MatrixSlot& slot : matrix_slots(files.config())) {
        TRY(const PanelMatrix matrix, layout_of(files, slot.name, panel_width));
        bytes += padded_bytes(matrix);
    }
    return bytes;
}

Result<ModelWeights> load_weights(std::shared_ptr<ModelFiles> files, const KernelTable& table,
                                  ForkJoin& pool) {
    const ModelConfig& config = files->config();
    ModelWeights weights;
    weights.tied_embeddings = config.tied_embeddings;
    TRY_VOID(need(*files, "token_embd.weight"));
    weights.layers.resize(static_cast<size_t>(config.num_layers));
    for (int32_t layer = 0; layer < config.num_layers; ++layer) {
        TRY_VOID(load_norms(*files, layer, weights.layers[static_cast<size_t>(layer)]));
    }
    TRY(weights.final_norm, load_norm(*files, "output_norm.weight", true));

    TRY(const int64_t bytes, packed_weight_bytes(*files, table.panel_width));
    auto storage = AlignedBuffer::reserve(bytes, true);
    if (!storage) {
        return fail(ErrorCode::kOutOfMemory, concat("no room for ", mib(bytes), " of weights"));
    }
    weights.storage = std::move(*storage);
    std::byte* at = weights.storage.data();
    for (const MatrixSlot& slot : matrix_slots(config)) {
        TRY(const TensorView* view, need(*files, slot.name));
        TRY(PanelMatrix matrix, layout_of(*files, slot.name, table.panel_width));
        pool.run(matrix.num_panels(), [&](const TaskRange& range) {
            pack_panels(matrix, format_of(*view), view->data, static_cast<int32_t>(range.begin),
                        static_cast<int32_t>(range.end), at);
        });
        matrix.data = at;
        at += padded_bytes(matrix);
        if (slot.member) {
            weights.layers[static_cast<size_t>(slot.layer)].*slot.member = matrix;
        } else {
            weights.lm_head = matrix;
        }
    }
    files->drop_pages();
    weights.files = std::move(files);
    return weights;
}

}  // namespace weir
