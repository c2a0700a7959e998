#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/family.h"
#include "model/gguf.h"
#include "model/model_config.h"

namespace weir {

/// Reads the configuration out of the keys; fails with kBadModelFile and one line that names path,
/// key, found and needed. What weir cannot compute (rope scaling, experts, unequal key and value
/// lengths) is refused, never ignored.
Result<ModelConfig> read_gguf_config(const GgufFile& file);

/// A tensor that a model of this configuration consists of.
struct TensorNeed {
    std::string name;
    int64_t rows;
    int64_t cols;
    bool is_norm;      // A vector in F32; else a matrix of any type.
    bool is_optional;  // lm_head of tied embeddings.
};

/// All of them; nothing else may be in the file.
std::vector<TensorNeed> needed_tensors(const ModelConfig& config);

}  // namespace weir
