#include "model/gguf_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/testing.h"
#include "model/gguf_config.h"
#include "model/gguf_testing.h"

namespace weir {
namespace {

constexpr int64_t kHidden = 64;
constexpr int64_t kInner = 96;
constexpr int64_t kVocab = 10;

void add_llama_keys(GgufBuilder& builder) {
    builder.string("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.embedding_length", kHidden)
        .u32("llama.feed_forward_length", kInner)
        .u32("llama.context_length", 128)
        .u32("llama.attention.head_count", 4)
        .u32("llama.attention.head_count_kv", 2)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
}

struct NamedTensor {
    std::string name;
    TensorType type;
    std::vector<int64_t> dims;
};

std::vector<NamedTensor> llama_tensors() {
    const auto f16 = TensorType::kF16;
    const auto f32 = TensorType::kF32;
    return {{"token_embd.weight", TensorType::kQ8_0, {kHidden, kVocab}},
            {"output_norm.weight", f32, {kHidden}},
            {"blk.0.attn_norm.weight", f32, {kHidden}},
            {"blk.0.attn_q.weight", f16, {kHidden, 64}},
            {"blk.0.attn_k.weight", f16, {kHidden, 32}},
            {"blk.0.attn_v.weight", f16, {kHidden, 32}},
            {"blk.0.attn_output.weight", f16, {64, kHidden}},
            {"blk.0.ffn_norm.weight", f32, {kHidden}},
            {"blk.0.ffn_gate.weight", f16, {kHidden, kInner}},
            {"blk.0.ffn_up.weight", f16, {kHidden, kInner}},
            {"blk.0.ffn_down.weight", f16, {kInner, kHidden}}};
}

std::string build(GgufBuilder builder, const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors) builder.tensor(tensor.name, tensor.type, tensor.dims);
    return builder.build();
}

std::string error_of(const std::string& content) {
    auto file = GgufFile::from_bytes(content, "x.gguf");
    if (!file) return file.error().text;
    const auto model = GgufModel::create(std::move(*file));
    return model ? "accepted" : model.error().text;
}

std::string error_with_key(const std::function<void(GgufBuilder&)>& add) {
    GgufBuilder builder;
    add_llama_keys(builder);
    add(builder);
    return error_of(build(builder, llama_tensors()));
}

TEST(GgufModel, SmolLm2) {
    const auto model = open_gguf_model(test_model("smollm2"));
    ASSERT_TRUE(model.has_value()) << model.error().text;
    const ModelConfig& config = (*model)->config();
    EXPECT_EQ(config.family, "llama");
    EXPECT_EQ(config.architecture, "LlamaForCausalLM");
    EXPECT_EQ(config.name, "Smollm2 135M 8k Lc100K Mix1 Ep2");
    EXPECT_EQ(config.num_layers, 30);
    EXPECT_EQ(config.hidden_size, 576);
    EXPECT_EQ(config.intermediate_size, 1536);
    EXPECT_EQ(config.num_heads, 9);
    EXPECT_EQ(config.num_kv_heads, 3);
    EXPECT_EQ(config.head_dim, 64);
    EXPECT_EQ(config.vocab_size, 49152);
    EXPECT_EQ(config.max_position_embeddings, 8192);
    EXPECT_EQ(config.rms_norm_eps, 1e-5F);
    EXPECT_EQ(config.activation, Activation::kSilu);
    EXPECT_EQ(config.rope_theta, 100000.0F);
    EXPECT_TRUE(config.rope_interleaved);
    EXPECT_EQ(config.query_scale, 0.125F);
    EXPECT_EQ(config.embedding_scale, 1.0F);
    EXPECT_TRUE(config.attends_fully(0));
    EXPECT_FALSE(config.qk_norm || config.post_norms || config.norm_adds_one);
    EXPECT_TRUE(config.tied_embeddings);
    EXPECT_EQ((*model)->find("blk.29.ffn_down.weight")->type, TensorType::kQ4_1);
    EXPECT_EQ((*model)->find("blk.30.ffn_down.weight"), nullptr);
    // Sum of n_bytes over all tensors, by PyPI gguf.
    EXPECT_EQ((*model)->weight_bytes(), 96'576'768);
    (*model)->drop_pages();
    EXPECT_EQ((*model)->gguf().get_string("tokenizer.ggml.pre").value(), "smollm");
}

TEST(GgufModel, Gemma3) {
    const auto model = open_gguf_model(test_model("gemma3"));
    ASSERT_TRUE(model.has_value()) << model.error().text;
    const ModelConfig& config = (*model)->config();
    EXPECT_EQ(config.family, "gemma3");
    EXPECT_EQ(config.num_layers, 18);
    EXPECT_EQ(config.hidden_size, 640);
    EXPECT_EQ(config.num_heads, 4);
    EXPECT_EQ(config.num_kv_heads, 1);
    EXPECT_EQ(config.head_dim, 256);
    EXPECT_EQ(config.vocab_size, 262'144);
    EXPECT_EQ(config.activation, Activation::kGeluTanh);
    EXPECT_EQ(config.rope_theta, 1'000'000.0F);
    EXPECT_EQ(config.rope_theta_local, 10'000.0F);
    EXPECT_FALSE(config.rope_interleaved);
    EXPECT_EQ(config.query_scale, 1.0F / 16);
    EXPECT_EQ(config.embedding_scale, std::sqrt(640.0F));
    EXPECT_EQ(config.sliding_window, 512);
    EXPECT_FALSE(config.attends_fully(4));
    EXPECT_TRUE(config.attends_fully(5));
    EXPECT_TRUE(config.attends_fully(17));
    EXPECT_TRUE(config.qk_norm && config.post_norms && config.tied_embeddings);
    EXPECT_FALSE(config.norm_adds_one);
    EXPECT_EQ((*model)->find("blk.0.attn_output.weight")->type, TensorType::kQ4_K);
    EXPECT_EQ((*model)->find("blk.0.attn_output.weight")->rows, 640);
    EXPECT_EQ((*model)->find("blk.0.attn_output.weight")->cols, 1024);
}

TEST(GgufModel, TinyLlamaIsAccepted) {
    EXPECT_EQ(error_with_key([](GgufBuilder&) {}), "accepted");
}

// Written by PyPI gguf 0.19.0's GGUFWriter.
TEST(GgufModel, FilesOfAnotherWriterAreAccepted) {
    for (const char* name : {"llama", "gemma3"}) {
        const auto model =
            open_gguf_model(test_file(std::string("corpus/gguf/tiny-") + name + ".gguf"));
        ASSERT_TRUE(model.has_value()) << model.error().text;
        EXPECT_EQ((*model)->config().family, name);
        EXPECT_EQ((*model)->config().name, "tiny");
        const TensorView* down = (*model)->find("blk.0.ffn_down.weight");
        ASSERT_NE(down, nullptr);
        EXPECT_EQ(down->rows, 4);
        EXPECT_EQ(down->cols, 2);
    }
}

TEST(GgufModel, UnknownArchitectureListsTheKnownOnes) {
    EXPECT_EQ(error_of(GgufBuilder().string("general.architecture", "weirtest").build()),
              "x.gguf: unknown architecture weirtest; weir runs gemma3, llama");
    EXPECT_EQ(error_of(GgufBuilder().build()),
              "x.gguf: key general.architecture is missing; needed as string");
    // A vocabulary without tensors.
    GgufBuilder builder;
    add_llama_keys(builder);
    EXPECT_EQ(error_of(builder.build()), "x.gguf: tensor token_embd.weight is missing");
}

TEST(GgufModel, EveryMissingTensorIsNamed) {
    GgufBuilder builder;
    add_llama_keys(builder);
    const std::vector<NamedTensor> all = llama_tensors();
    for (size_t i = 0; i < all.size(); ++i) {
        std::vector<NamedTensor> fewer = all;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_EQ(error_of(build(builder, fewer)),
                  "x.gguf: tensor " + all[i].name + " is missing");
    }
}

TEST(GgufModel, WrongShapesTypesAndExtraTensorsAreRefused) {
    GgufBuilder builder;
    add_llama_keys(builder);
    std::vector<NamedTensor> tensors = llama_tensors();
    tensors[3].dims = {64, 48};
    EXPECT_EQ(error_of(build(builder, tensors)),
              "x.gguf: tensor blk.0.attn_q.weight has the shape [48, 64], the configuration needs "
              "[64, 64]");
    tensors = llama_tensors();
    tensors[4].dims = {64, 16, 2};  // The right number of values in a wrong form.
    EXPECT_NE(error_of(build(builder, tensors)).find("blk.0.attn_k.weight has the shape"),
              std::string::npos);
    tensors = llama_tensors();
    tensors[2].type = TensorType::kF16;
    EXPECT_EQ(error_of(build(builder, tensors)),
              "x.gguf: tensor blk.0.attn_norm.weight is F16, a norm must be F32");
    tensors = llama_tensors();
    tensors.push_back({"blk.0.attn_q.bias", TensorType::kF32, {64}});
    EXPECT_EQ(error_of(build(builder, tensors)),
              "x.gguf: tensor blk.0.attn_q.bias is not used by the family llama with 1 layers: "
              "this variant is not supported");
    tensors = llama_tensors();
    tensors.push_back({"output.weight", TensorType::kF16, {kHidden, kVocab}});
    EXPECT_EQ(error_of(build(builder, tensors)), "accepted");
}

TEST(GgufModel, BadKeysAreNamed) {
    struct Row {
        std::function<void(GgufBuilder&)> add;
        const char* error;
    };
    const Row rows[] = {
        {[](auto& b) { b.u32("llama.vocab_size", 11); },
         "key llama.vocab_size is 11, but tensor token_embd.weight has 10 rows"},
        {[](auto& b) { b.u32("llama.attention.value_length", 32); },
         "key heads have 16 values and value heads 32; weir needs them equal"},
        {[](auto& b) { b.u32("llama.attention.key_length", 15); },
         "heads of 15 values; an even number up to 1024 is needed"},
        {[](auto& b) { b.u32("llama.attention.key_length", 0); },
         "key llama.attention.key_length is 0, must be 1 to 1024"},
        {[](auto& b) { b.u32("llama.rope.dimension_count", 8); },
         "rope turns 8 of 16 values of a head; weir turns all or none"},
        {[](auto& b) { b.f32("llama.rope.freq_base", NAN); },
         "key llama.rope.freq_base is nan, must be above 0 and at most 1e12"},
        {[](auto& b) { b.string("llama.rope.freq_base", "x"); },
         "key llama.rope.freq_base is string, must be f32"},
        {[](auto& b) { b.string("llama.rope.scaling.type", "yarn"); },
         "key llama.rope.scaling.type is yarn; scaled rotary embeddings come later"},
        {[](auto& b) { b.f32("llama.rope.scaling.factor", 8); },
         "key llama.rope.scaling.factor is 8; scaled rotary embeddings come later"},
        {[](auto& b) { b.f32("llama.attn_logit_softcapping", 50); },
         "key llama.attn_logit_softcapping is 50; soft caps come later"},
        {[](auto& b) { b.u32("llama.expert_count", 8); },
         "a mixture of 8 experts; those come later"},
        {[](auto& b) { b.u32("llama.attention.sliding_window", 4096); },
         "key llama.attention.sliding_window is 4096; llama with a sliding window comes later"},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(error_with_key(row.add), std::string("x.gguf: ") + row.error);
    }
}

TEST(GgufModel, KeysOutOfRange) {
    const auto error = [](uint32_t layers, uint32_t hidden, uint32_t heads, uint32_t kv_heads) {
        GgufBuilder builder;
        builder.string("general.architecture", "llama")
            .u32("llama.block_count", layers)
            .u32("llama.embedding_length", hidden)
            .u32("llama.feed_forward_length", kInner)
            .u32("llama.context_length", 128)
            .u32("llama.attention.head_count", heads)
            .u32("llama.attention.head_count_kv", kv_heads)
            .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
        return error_of(build(builder, llama_tensors()));
    };
    EXPECT_EQ(error(0, 64, 4, 2), "x.gguf: key llama.block_count is 0, must be 1 to 1000");
    EXPECT_EQ(error(UINT32_MAX, 64, 4, 2),
              "x.gguf: key llama.block_count is 4294967295, must be 1 to 1000");
    EXPECT_EQ(error(1, 64, 4, 3), "x.gguf: 4 heads cannot share 3 KV heads evenly");
    EXPECT_EQ(error(1, 64, 5, 5),
              "x.gguf: key llama.attention.key_length is missing and 5 heads do not divide the "
              "hidden size 64");
    EXPECT_EQ(error(2, 64, 4, 2), "x.gguf: tensor blk.1.attn_norm.weight is missing");
}

TEST(Family, RowsAreWhole) {
    for (const Family& family : families()) {
        EXPECT_EQ(find_family(family.name), &family) << "twice: " << family.name;
        EXPECT_GE(family.full_attention_interval, 1);
    }
    EXPECT_EQ(find_family("nope"), nullptr);
}

}  // namespace
}  // namespace weir
