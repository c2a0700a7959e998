#include "model/gguf_config.h"

#include <cmath>
#include <optional>

#include "base/text.h"

namespace weir {

namespace {

// Far above every known model; below what would overflow products of two of them in 64 bits.
constexpr int64_t kLayersMax = 1000;
constexpr int64_t kWidthMax = int64_t{1} << 20;
constexpr int64_t kHeadsMax = 1024;
constexpr int64_t kHeadDimMax = 1024;
constexpr int64_t kVocabSizeMax = int64_t{1} << 24;
constexpr int64_t kPositionsMax = int64_t{1} << 30;

/// Reads keys of one architecture: "llama." + name.
class ConfigReader {
   public:
    ConfigReader(const GgufFile& file, const Family& family) : file_(file), family_(family) {}

    Result<ModelConfig> read();

   private:
    template <typename... Pieces>
    tl::unexpected<Error> bad(const Pieces&... pieces) const {
        return fail(ErrorCode::kBadModelFile, concat(file_.path(), ": ", pieces...));
    }
    std::string key(std::string_view name) const { return concat(family_.name, ".", name); }

    Result<int32_t> integer(std::string_view name, int64_t max) const {
        TRY(const int64_t value, file_.get_int(key(name)));
        if (value < 1 || value > max) {
            return bad("key ", key(name), " is ", value, ", must be 1 to ", max);
        }
        return static_cast<int32_t>(value);
    }
    Result<int32_t> integer_or(std::string_view name, int64_t max, int32_t otherwise) const {
        if (!file_.has(key(name))) return otherwise;
        return integer(name, max);
    }
    /// Finite and above 0.
    Result<float> positive(std::string_view name) const {
        TRY(const double value, file_.get_float(key(name)));
        if (!std::isfinite(value) || value <= 0 || value > 1e12) {
            return bad("key ", key(name), " is ", value, ", must be above 0 and at most 1e12");
        }
        return static_cast<float>(value);
    }
    Result<float> positive_or(std::string_view name, float otherwise) const {
        if (!file_.has(key(name))) return otherwise;
        return positive(name);
    }

    Result<void> read_sizes(ModelConfig& config) const;
    Result<void> read_heads(ModelConfig& config) const;
    Result<void> read_vocabulary(ModelConfig& config) const;
    Result<void> read_attention(ModelConfig& config) const;
    Result<void> refuse_unsupported() const;

    const GgufFile& file_;
    const Family& family_;
};

Result<ModelConfig> ConfigReader::read() {
    ModelConfig config;
    config.family = family_.name;
    config.architecture = family_.architecture;
    if (file_.has("general.name")) {
        TRY(const std::string_view name, file_.get_string("general.name"));
        config.name = printable(name);
    }
    config.activation = family_.activation;
    config.rope_interleaved = family_.rope_interleaved;
    config.qk_norm = family_.qk_norm;
    config.post_norms = family_.post_norms;
    config.norm_adds_one = false;  // GGUF's converters have added it.
    TRY_VOID(read_sizes(config));
    TRY_VOID(read_heads(config));
    TRY_VOID(read_vocabulary(config));
    TRY_VOID(read_attention(config));
    TRY_VOID(refuse_unsupported());
    return config;
}

Result<void> ConfigReader::read_sizes(ModelConfig& config) const {
    TRY(config.num_layers, integer("block_count", kLayersMax));
    TRY(config.hidden_size, integer("embedding_length", kWidthMax));
    TRY(config.intermediate_size, integer("feed_forward_length", kWidthMax));
    TRY(config.max_position_embeddings, integer("context_length", kPositionsMax));
    TRY(config.rms_norm_eps, positive("attention.layer_norm_rms_epsilon"));
    if (family_.embedding_scaled) {
        config.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
    }
    return {};
}

Result<void> ConfigReader::read_heads(ModelConfig& config) const {
    TRY(config.num_heads, integer("attention.head_count", kHeadsMax));
    TRY(config.num_kv_heads,
        integer_or("attention.head_count_kv", kHeadsMax, config.num_heads));
    if (config.num_heads % config.num_kv_heads != 0) {
        return bad(config.num_heads, " heads cannot share ", config.num_kv_heads, " KV heads evenly");
    }
    if (file_.has(key("attention.key_length"))) {
        TRY(config.head_dim, integer("attention.key_length", kHeadDimMax));
    } else if (config.hidden_size % config.num_heads == 0) {
        config.head_dim = config.hidden_size / config.num_heads;
    } else {
        return bad("key ", key("attention.key_length"), " is missing and ", config.num_heads,
                   " heads do not divide the hidden size ", config.hidden_size);
    }
    if (config.head_dim % 2 != 0 || config.head_dim > kHeadDimMax) {
        return bad("heads of ", config.head_dim, " values; an even number up to ", kHeadDimMax,
                   " is needed");
    }
    TRY(const int32_t value_length,
        integer_or("attention.value_length", kHeadDimMax, config.head_dim));
    if (value_length != config.head_dim) {
        return bad("key heads have ", config.head_dim, " values and value heads ", value_length,
                   "; weir needs them equal");
    }
    TRY(const int32_t rope_dim, integer_or("rope.dimension_count", kHeadDimMax, config.head_dim));
    if (rope_dim != config.head_dim) {
        return bad("rope turns ", rope_dim, " of ", config.head_dim,
                   " values of a head; weir turns all or none");
    }
    return {};
}

Result<void> ConfigReader::read_vocabulary(ModelConfig& config) const {
    const GgufTensor* embedding = file_.find_tensor("token_embd.weight");
    if (!embedding) return bad("tensor token_embd.weight is missing");
    if (embedding->view.rows > kVocabSizeMax) {
        return bad("tensor token_embd.weight has ", embedding->view.rows, " rows; at most ",
                   kVocabSizeMax, " are read");
    }
    config.vocab_size = static_cast<int32_t>(embedding->view.rows);
    TRY(const int32_t announced, integer_or("vocab_size", kVocabSizeMax, config.vocab_size));
    if (announced != config.vocab_size) {
        return bad("key ", key("vocab_size"), " is ", announced,
                   ", but tensor token_embd.weight has ", config.vocab_size, " rows");
    }
    config.tied_embeddings = file_.find_tensor("output.weight") == nullptr;
    return {};
}

Result<void> ConfigReader::read_attention(ModelConfig& config) const {
    config.query_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
    TRY(config.rope_theta, positive_or("rope.freq_base", 10000.0F));
    config.rope_theta_local = config.rope_theta;
    if (!family_.sliding_window) return {};
    TRY(config.sliding_window, integer("attention.sliding_window", kPositionsMax));
    config.full_attention_interval = family_.full_attention_interval;
    TRY(config.rope_theta_local, positive_or("rope.freq_base_swa", family_.rope_theta_local));
    return {};
}

/// Keys that change the arithmetic in ways that weir does not have yet.
Result<void> ConfigReader::refuse_unsupported() const {
    const std::string type = key("rope.scaling.type");
    if (file_.has(type)) {
        TRY(const std::string_view name, file_.get_string(type));
        if (name != "none") {
            return bad("key ", type, " is ", printable(name),
                       "; scaled rotary embeddings come later");
        }
    }
    for (const char* name : {"rope.scale_linear", "rope.scaling.factor"}) {
        if (!file_.has(key(name))) continue;
        TRY(const double factor, file_.get_float(key(name)));
        if (factor != 1.0 && factor != 0.0) {
            return bad("key ", key(name), " is ", factor, "; scaled rotary embeddings come later");
        }
    }
    for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"}) {
        if (!file_.has(key(name))) continue;
        TRY(const double cap, file_.get_float(key(name)));
        if (cap != 0.0) return bad("key ", key(name), " is ", cap, "; soft caps come later");
    }
    if (file_.has(key("expert_count"))) {
        TRY(const int64_t experts, file_.get_int(key("expert_count")));
        if (experts != 0) return bad("a mixture of ", experts, " experts; those come later");
    }
    // Mistral's early files: a window on every layer, which no row of families.def describes.
    const std::string window = key("attention.sliding_window");
    if (!family_.sliding_window && file_.has(window)) {
        TRY(const int64_t tokens, file_.get_int(window));
        if (tokens != 0) return bad("key ", window, " is ", tokens, "; ", family_.name,
                                    " with a sliding window comes later");
    }
    return {};
}

}  // namespace

Result<ModelConfig> read_gguf_config(const GgufFile& file) {
    TRY(const std::string_view architecture, file.get_string("general.architecture"));
    const Family* family = find_family(architecture);
    if (!family) {
        return fail(ErrorCode::kBadModelFile,
                    concat(file.path(), ": unknown architecture ", printable(architecture),
                           "; weir runs ", family_names()));
    }
    return ConfigReader(file, *family).read();
}

std::vector<TensorNeed> needed_tensors(const ModelConfig& config) {
    const int64_t hidden = config.hidden_size;
    const int64_t inner = config.intermediate_size;
    const int64_t q_size = int64_t{config.num_heads} * config.head_dim;
    const int64_t kv_size = int64_t{config.num_kv_heads} * config.head_dim;
    std::vector<TensorNeed> needs;
    const auto matrix = [&](std::string name, int64_t rows, int64_t cols) {
        needs.push_back({std::move(name), rows, cols, false, false});
    };
    const auto norm = [&](std::string name, int64_t cols) {
        needs.push_back({std::move(name), 1, cols, true, false});
    };
    matrix("token_embd.weight", config.vocab_size, hidden);
    norm("output_norm.weight", hidden);
    needs.push_back({"output.weight", config.vocab_size, hidden, false, true});
    for (int32_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string block = concat("blk.", layer, ".");
        norm(block + "attn_norm.weight", hidden);
        matrix(block + "attn_q.weight", q_size, hidden);
        matrix(block + "attn_k.weight", kv_size, hidden);
        matrix(block + "attn_v.weight", kv_size, hidden);
        matrix(block + "attn_output.weight", hidden, q_size);
        if (config.qk_norm) {
            norm(block + "attn_q_norm.weight", config.head_dim);
            norm(block + "attn_k_norm.weight", config.head_dim);
        }
        if (config.post_norms) norm(block + "post_attention_norm.weight", hidden);
        norm(block + "ffn_norm.weight", hidden);
        matrix(block + "ffn_gate.weight", inner, hidden);
        matrix(block + "ffn_up.weight", inner, hidden);
        matrix(block + "ffn_down.weight", hidden, inner);
        if (config.post_norms) norm(block + "post_ffw_norm.weight", hidden);
    }
    return needs;
}

}  // namespace weir
