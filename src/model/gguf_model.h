#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/gguf.h"
#include "model/model_files.h"

namespace weir {

/// ModelFiles out of a GGUF. gguf() gives the keys of its tokenizer and chat template.
class GgufModel final : public ModelFiles {
   public:
    const ModelConfig& config() const override { return config_; }
    const TensorView* find(std::string_view name) const override;
    int64_t weight_bytes() const override { return weight_bytes_; }
    void drop_pages() override { file_.drop_pages(); }
    const GgufFile& gguf() const { return file_; }

    /// Checks that the file has exactly the tensors that its family needs, with their shapes.
    static Result<std::shared_ptr<GgufModel>> create(GgufFile file);

   private:
    GgufModel(GgufFile file, ModelConfig config, int64_t weight_bytes);

    GgufFile file_;
    ModelConfig config_;
    int64_t weight_bytes_;
};

/// MODEL of the command line: a .gguf file, any part of a split one, or a folder with one model.
/// Fails with kFileNotFound or kBadModelFile and one line.
Result<std::shared_ptr<GgufModel>> open_gguf_model(const std::string& model);

}  // namespace weir
