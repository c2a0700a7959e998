#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "model/gguf_part.h"

namespace weir {

/// For tests: standard base64 (RFC 4648) with padding.
inline std::string decode_base64(std::string_view text) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    uint32_t bits = 0;
    int num_bits = 0;
    for (const char c : text) {
        if (c == '=') break;
        const size_t value = kAlphabet.find(c);
        CHECK(value != std::string_view::npos);
        bits = bits << 6 | static_cast<uint32_t>(value);
        num_bits += 6;
        if (num_bits >= 8) {
            num_bits -= 8;
            out += static_cast<char>(bits >> num_bits & 0xff);
        }
    }
    return out;
}

/// For tests: writes GGUF files, right ones and wrong ones.
class GgufBuilder {
   public:
    GgufBuilder& string(std::string_view key, std::string_view value) {
        begin(key, GgufType::kString);
        text(keys_, value);
        return *this;
    }
    GgufBuilder& u32(std::string_view key, uint32_t value) {
        return scalar(key, GgufType::kU32, value);
    }
    GgufBuilder& f32(std::string_view key, float value) {
        return scalar(key, GgufType::kF32, value);
    }
    GgufBuilder& boolean(std::string_view key, bool value) {
        return scalar(key, GgufType::kBool, static_cast<uint8_t>(value));
    }
    template <typename T>
    GgufBuilder& scalar(std::string_view key, GgufType type, T value) {
        begin(key, type);
        number(keys_, value);
        return *this;
    }
    GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
        begin_array(key, GgufType::kString, values.size());
        for (const std::string& value : values) text(keys_, value);
        return *this;
    }
    template <typename T>
    GgufBuilder& array(std::string_view key, GgufType type, const std::vector<T>& values) {
        begin_array(key, type, values.size());
        for (const T& value : values) number(keys_, value);
        return *this;
    }
    /// Zeros as data. `dims` in GGUF's order, the row length first.
    GgufBuilder& tensor(std::string_view name, TensorType type, const std::vector<int64_t>& dims) {
        text(records_, name);
        number(records_, static_cast<uint32_t>(dims.size()));
        int64_t elements = 1;
        for (const int64_t dim : dims) {
            number(records_, static_cast<uint64_t>(dim));
            elements *= dim;
        }
        number(records_, static_cast<uint32_t>(type));
        number(records_, static_cast<uint64_t>(data_bytes_));
        const TensorTypeInfo& info = tensor_type_info(type);
        data_bytes_ += elements / info.block_size * info.block_bytes;
        data_bytes_ = (data_bytes_ + 31) / 32 * 32;
        ++num_tensors_;
        return *this;
    }
    std::string build() const {
        std::string out = "GGUF";
        number(out, uint32_t{3});
        number(out, num_tensors_);
        number(out, num_keys_);
        out += keys_ + records_;
        out.resize((out.size() + 31) / 32 * 32);
        out.resize(out.size() + static_cast<size_t>(data_bytes_));
        return out;
    }

   private:
    template <typename T>
    static void number(std::string& out, T value) {
        char bytes[sizeof(T)];
        std::memcpy(bytes, &value, sizeof(T));
        out.append(bytes, sizeof(T));
    }
    static void text(std::string& out, std::string_view value) {
        number(out, static_cast<uint64_t>(value.size()));
        out += value;
    }
    void begin(std::string_view key, GgufType type) {
        text(keys_, key);
        number(keys_, static_cast<uint32_t>(type));
        ++num_keys_;
    }
    void begin_array(std::string_view key, GgufType type, size_t count) {
        begin(key, GgufType::kArray);
        number(keys_, static_cast<uint32_t>(type));
        number(keys_, static_cast<uint64_t>(count));
    }

    std::string keys_;
    std::string records_;
    uint64_t num_keys_ = 0;
    uint64_t num_tensors_ = 0;
    int64_t data_bytes_ = 0;
};

}  // namespace weir
