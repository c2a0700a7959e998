#include "model/gguf_model.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/gguf_config.h"
#include "model/model_path.h"

namespace weir {

namespace {

template <typename... Pieces>
tl::unexpected<Error> bad(const Pieces&... pieces) {
    return fail(ErrorCode::kBadModelFile, concat(pieces...));
}

Result<void> check_tensor(const GgufFile& file, const TensorNeed& need) {
    const GgufTensor* tensor = file.find_tensor(need.name);
    if (!tensor) {
        if (need.is_optional) return {};
        return bad(file.path(), ": tensor ", need.name, " is missing");
    }
    const TensorView& view = tensor->view;
    const bool dims_fit = tensor->num_dims == (need.is_norm ? 1 : 2) || need.rows == 1;
    if (view.rows != need.rows || view.cols != need.cols || !dims_fit) {
        return bad(file.path(), ": tensor ", need.name, " has the shape [", view.rows, ", ",
                   view.cols, "], the configuration needs [", need.rows, ", ", need.cols, "]");
    }
    if (need.is_norm && view.type != TensorType::kF32) {
        return bad(file.path(), ": tensor ", need.name, " is ", tensor_type_info(view.type).name,
                   ", a norm must be F32");
    }
    return {};
}

/// A tensor that is not used would change the answers if it were.
Result<void> refuse_unused(const GgufFile& file, const std::vector<TensorNeed>& needs,
                           const ModelConfig& config) {
    std::vector<std::string_view> known;
    known.reserve(needs.size());
    for (const TensorNeed& need : needs) known.push_back(need.name);
    std::sort(known.begin(), known.end());
    for (const GgufTensor& tensor : file.tensors()) {
        if (std::binary_search(known.begin(), known.end(), tensor.name)) continue;
        return bad(file.path(), ": tensor ", printable(tensor.name), " is not used by the family ",
                   config.family, " with ", config.num_layers,
                   " layers: this variant is not supported");
    }
    return {};
}

}  // namespace

GgufModel::GgufModel(GgufFile file, ModelConfig config, int64_t weight_bytes)
    : file_(std::move(file)), config_(std::move(config)), weight_bytes_(weight_bytes) {}

const TensorView* GgufModel::find(std::string_view name) const {
    const GgufTensor* tensor = file_.find_tensor(name);
    return tensor ? &tensor->view : nullptr;
}

Result<std::shared_ptr<GgufModel>> GgufModel::create(GgufFile file) {
    TRY(ModelConfig config, read_gguf_config(file));
    const std::vector<TensorNeed> needs = needed_tensors(config);
    for (const TensorNeed& need : needs) {
        TRY_VOID(check_tensor(file, need));
    }
    TRY_VOID(refuse_unused(file, needs, config));
    int64_t weight_bytes = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        weight_bytes += static_cast<int64_t>(tensor.view.data.size());
    }
    return std::shared_ptr<GgufModel>(
        new GgufModel(std::move(file), std::move(config), weight_bytes));
}

Result<std::shared_ptr<GgufModel>> open_gguf_model(const std::string& model) {
    TRY(const std::string path, resolve_model_path(model));
    TRY(GgufFile file, GgufFile::open(path));
    return GgufModel::create(std::move(file));
}

}  // namespace weir
