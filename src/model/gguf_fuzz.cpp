#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/gguf_model.h"

namespace weir {
namespace {

/// Reads all that an accepted file promises; the sanitizers see whether it is there.
uint64_t read_everything(const GgufFile& file) {
    uint64_t sum = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        const TensorTypeInfo& info = tensor_type_info(tensor.view.type);
        CHECK(tensor.view.cols % info.block_size == 0);
        const int64_t bytes = tensor.view.rows * (tensor.view.cols / info.block_size) *
                              info.block_bytes;
        CHECK(static_cast<int64_t>(tensor.view.data.size()) == bytes);
        for (const std::byte byte : tensor.view.data) sum += std::to_integer<uint64_t>(byte);
        CHECK(file.find_tensor(tensor.name) != nullptr);
    }
    for (const char* key : {"general.architecture", "general.name", "tokenizer.ggml.model",
                            "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
                            "tokenizer.ggml.token_type", "a", "k", "s", "ss", "fs"}) {
        if (const auto strings = file.get_strings(key)) {
            for (const std::string_view text : *strings) {
                for (const char c : text) sum += static_cast<unsigned char>(c);
            }
        }
        sum += file.get_string(key).has_value() + file.get_f32s(key).has_value() +
               file.get_i32s(key).has_value() + file.get_bytes(key).has_value() +
               file.get_int(key).has_value() + file.get_float(key).has_value() +
               file.get_bool(key).has_value();
    }
    return sum;
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view content(reinterpret_cast<const char*>(data), size);
    auto file = weir::GgufFile::from_bytes(content, "x.gguf");
    if (!file) {
        CHECK(file.error().text.starts_with("x.gguf: "));
        CHECK(file.error().text.find('\n') == std::string::npos);
        return 0;
    }
    volatile uint64_t sink = weir::read_everything(*file);
    static_cast<void>(sink);
    const auto model = weir::GgufModel::create(std::move(*file));
    if (!model) CHECK(model.error().text.find('\n') == std::string::npos);
    return 0;
}
