#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/model_config.h"
#include "model/tensor_view.h"

namespace weir {

/// A model's tensors and configuration, whatever the files are (GGUF now, Hugging Face folders later). Mapped:
/// views stay valid while this lives. Thread-safe for reading.
class ModelFiles {
   public:
    virtual ~ModelFiles() = default;
    virtual const ModelConfig& config() const = 0;
    /// Null if there is no such tensor. Names are GGUF's ("blk.0.attn_q.weight", "token_embd.weight"); shapes were
    /// checked against config() when the file was opened.
    virtual const TensorView* find(std::string_view name) const = 0;
    virtual int64_t weight_bytes() const = 0;
    /// Tells the kernel that the file's pages are not needed any more (after repacking).
    virtual void drop_pages() = 0;
};

}  // namespace weir
