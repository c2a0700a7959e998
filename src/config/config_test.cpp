#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/testing.h"
#include "base/text.h"
#include "config/resolve.h"
#include "config/serve_config.h"
#include "config/yaml.h"

namespace weir {

using Arguments = std::vector<std::string>;

LoadedConfig load(const Arguments& arguments,
                  const std::vector<EnvironmentValue>& environment = {}) {
    Result<LoadedConfig> loaded = load_serve_config(arguments, environment);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().text);
    return loaded ? std::move(*loaded) : LoadedConfig{};
}

std::string refusal(const Arguments& arguments) {
    const Result<LoadedConfig> loaded = load_serve_config(arguments, {});
    return loaded ? "accepted" : loaded.error().text;
}

TEST(Flags, FormsOfArgparse) {
    EXPECT_EQ(load({"--max-num-seqs", "7"}).config.max_num_seqs, 7);
    EXPECT_EQ(load({"--max_num_seqs=7"}).config.max_num_seqs, 7);
    EXPECT_EQ(load({"--max-num-seqs=3", "--max-num-seqs=7"}).config.max_num_seqs, 7);
    EXPECT_EQ(load({"--max-num-se", "7"}).config.max_num_seqs, 7);  // Unique prefix.
    EXPECT_FALSE(load({"--no-enable-prefix-caching"}).config.enable_prefix_caching);
    EXPECT_FALSE(load({"--no_enable_prefix_caching"}).config.enable_prefix_caching);
    EXPECT_TRUE(load({}).config.enable_prefix_caching);
    EXPECT_EQ(load({"--device-memory-utilization", "0.5"}).config.gpu_memory_utilization, 0.5);
    EXPECT_EQ(load({"--max-model-len", "-1"}).config.max_model_len, -1);
    EXPECT_EQ(load({"--max-model-len", "auto"}).config.max_model_len, -1);
    EXPECT_EQ(load({"--max-model-len", "8k"}).config.max_model_len, 8000);
    EXPECT_EQ(load({"--max-model-len", "8K"}).config.max_model_len, 8192);
    EXPECT_EQ(load({"--max-num-batched-tokens", "25.6k"}).config.max_num_batched_tokens, 25600);
    EXPECT_EQ(load({"a.gguf"}).config.model, "a.gguf");
    EXPECT_EQ(load({"--model", "a.gguf"}).config.model, "a.gguf");
    EXPECT_EQ(load({"a.gguf", "--api-key", "k1", "k2", "--port", "0"}).config.api_key,
              (Arguments{"k1", "k2"}));
    EXPECT_EQ(load({"--kv-cache-memory-bytes", "None"}).config.kv_cache_memory_bytes, std::nullopt);
    EXPECT_EQ(load({"--api-key=k", "--", "--odd.gguf"}).config.model, "--odd.gguf");
}

TEST(Flags, DottedJson) {
    EXPECT_EQ(load({"--override-generation-config.temperature", "0.5",
                    "--override-generation-config.top_k=4k"})
                  .config.override_generation_config.dump(),
              R"({"temperature":0.5,"top_k":4000})");
    EXPECT_EQ(load({"--default-chat-template-kwargs.a.b_c", "text"})
                  .config.default_chat_template_kwargs.dump(),
              R"({"a":{"b_c":"text"}})");
    EXPECT_EQ(load({"--allowed-origins", "[\"*\"]"}).config.allowed_origins.dump(), R"(["*"])");
}

TEST(Flags, Refusals) {
    EXPECT_EQ(refusal({"--max-num-seq-s", "7"}),
              "unrecognized argument: --max-num-seq-s (nearest: --max-num-seqs; all flags: weir "
              "serve --help=all)");
    EXPECT_EQ(refusal({"--max-num-seqs", "x"}), "argument --max-num-seqs: 'x' is not an integer");
    EXPECT_EQ(refusal({"--max-num-seqs", "0"}), "argument --max-num-seqs: must be at least 1");
    EXPECT_EQ(refusal({"--max-num-seqs"}), "argument --max-num-seqs: expected a value");
    EXPECT_EQ(refusal({"--gpu-memory-utilization", "0"}),
              "argument --gpu-memory-utilization: must be above 0");
    EXPECT_EQ(refusal({"--gpu-memory-utilization", "1.5"}),
              "argument --gpu-memory-utilization: must be at most 1");
    EXPECT_EQ(refusal({"--watermark", "1"}), "argument --watermark: must be below 1");
    EXPECT_EQ(refusal({"--max-model-len", "1.5K"}),
              "argument --max-model-len: '1.5K': K takes whole numbers, k takes decimals");
    EXPECT_EQ(refusal({"--scheduling-policy", "lifo"}),
              "argument --scheduling-policy: invalid choice 'lifo' (choose from fcfs, priority)");
    EXPECT_EQ(refusal({"--max-num"}).substr(0, 44), "ambiguous option: --max-num could match --ma");
    EXPECT_EQ(refusal({"a", "b"}), "unrecognized argument: b (MODEL is already given)");
    EXPECT_EQ(refusal({"-tp", "8"}),
              "argument --tensor-parallel-size: one process computes on this machine; more come "
              "with GPUs; leave it out");
    EXPECT_EQ(refusal({"-tp", "1"}), "accepted");
    EXPECT_EQ(refusal({"--port", "99999999999999999999"}),
              "argument --port: '99999999999999999999' does not fit 64 bits");
    EXPECT_EQ(refusal({"--allowed-origins", "[1"}).substr(0, 51),
              "argument --allowed-origins: JSON decode error at of");
    EXPECT_EQ(refusal({"--no-port"}).substr(0, 32), "unrecognized argument: --no-port");
    EXPECT_EQ(refusal({"--config", "x.toml"}),
              "--config x.toml: the file must end in .yaml or .yml");
    EXPECT_EQ(refusal({"--config", "missing.yaml"}), "cannot open missing.yaml");
}

TEST(Flags, NoticesForWhatHasNoEffect) {
    EXPECT_EQ(load({"--enforce-eager"}).notices,
              Arguments{"--enforce-eager has no effect here: there are no graphs on a CPU"});
    EXPECT_EQ(load({"--swap-space", "4"}).notices,
              Arguments{"--swap-space does not exist any more: preempted requests are recomputed, "
                        "nothing is swapped"});
    EXPECT_EQ(load({"-O3", "-cc.mode=3"}).notices.size(), 2u);
    EXPECT_EQ(load({"--data-parallel-new-thing", "4", "--port", "0"}).notices,
              Arguments{"--data-parallel-new-thing has no effect here"});
    EXPECT_EQ(load({"--port", "1", "--port", "2"}).notices,
              Arguments{"Found duplicate keys --port: the last one wins"});
}

/// The names of reference 4.2, one a line; "removed NAME" for what 0.32 does not know any more.
TEST(Flags, AllOfVllm032AreKnown) {
    std::ifstream file(test_file("cli/vllm-0.32-flags.txt"));
    std::set<std::string> known;
    for (const FlagSpec& flag : serve_flags()) {
        known.insert(flag.name);
        for (const std::string_view alias : split(flag.aliases, ' ')) {
            if (alias.starts_with("--")) known.emplace(alias.substr(2));
        }
    }
    int count = 0;
    for (std::string name; std::getline(file, name); ++count) {
        EXPECT_TRUE(known.count(name))
            << "flag of vLLM 0.32 not in flags.def or flags_other.def: " << name;
    }
    EXPECT_GT(count, 200);
}

TEST(Flags, NamesAreUniqueAndDefaultsAreLegal) {
    std::set<std::string> names;
    for (const FlagSpec& flag : serve_flags()) {
        EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
        const bool free_default = flag.default_text == "auto" || flag.default_text.empty();
        if (!free_default) {
            EXPECT_TRUE(check_flag_value(flag, flag.default_text).has_value()) << flag.name;
        }
        EXPECT_FALSE(flag.help.empty()) << flag.name;
    }
}

TEST(Environment, KeysLinksAndUnknownNames) {
    const LoadedConfig loaded = load({}, {{"VLLM_API_KEY", "secret"},
                                          {"VLLM_PORT", "tcp://10.0.0.7:8000"},
                                          {"WEIR_SERVICE_HOST", "10.0.0.7"},
                                          {"VLLM_NO_SUCH", "1"},
                                          {"HOME", "/"}});
    EXPECT_EQ(loaded.config.api_key, Arguments{"secret"});
    EXPECT_EQ(loaded.notices,
              (Arguments{"ignored environment variables that a Kubernetes service link sets: "
                         "VLLM_PORT, WEIR_SERVICE_HOST",
                         "environment variables without effect here: VLLM_NO_SUCH"}));
    EXPECT_EQ(load({"--api-key", "k"}, {{"VLLM_API_KEY", "secret"}}).config.api_key,
              Arguments{"k"});
    EXPECT_EQ(load({"--kv-cache-memory-bytes", "1G"}, {{"VLLM_CPU_KVCACHE_SPACE", "2"}})
                  .config.kv_cache_memory_bytes,
              int64_t{2} << 30);
    EXPECT_NE(print_config(loaded).find("# environment"), std::string::npos);
    EXPECT_EQ(print_config(loaded).find("secret"), std::string::npos);
    EXPECT_EQ(non_default_args(loaded).find("secret"), std::string::npos);
}

TEST(ConfigFile, CommandLineWins) {
    const std::string path = testing::TempDir() + "weir_config_test.yaml";
    std::ofstream(path) << "model: m.gguf\nport: 9\nmax_num_seqs: 3\nenable-prefix-caching: false\n"
                           "api-key: [a, b]\noverride-generation-config: {temperature: "
                           "0.5}\ndisable-log-stats: false\n";
    const LoadedConfig loaded = load({"--port", "10", "--config", path});
    EXPECT_EQ(loaded.config.model, "m.gguf");
    EXPECT_EQ(loaded.config.port, 10);
    EXPECT_EQ(loaded.config.max_num_seqs, 3);
    EXPECT_FALSE(loaded.config.enable_prefix_caching);
    EXPECT_EQ(loaded.config.api_key, (Arguments{"a", "b"}));
    EXPECT_EQ(loaded.config.override_generation_config.dump(), R"({"temperature":0.5})");
    EXPECT_EQ(loaded.source_of("port"), FlagSource::kCommandLine);
    EXPECT_EQ(loaded.source_of("max-num-seqs"), FlagSource::kConfigFile);
    std::ofstream(path) << "portt: 9\n";
    EXPECT_EQ(refusal({"--config", path}), concat("--config ", path,
                                                  ": unrecognized argument: --portt (nearest: "
                                                  "--port; all flags: weir serve --help=all)"));
    std::ofstream(path) << "a: [1\n";
    EXPECT_EQ(refusal({"--config", path}).substr(0, path.size() + 6), path + ": line");
}

TEST(Yaml, ScalarsAndBounds) {
    EXPECT_EQ(parse_yaml("{a: 1, b: '1', c: yes, d: null, e: 1.5, f: true}", "x")->dump(),
              R"({"a":1,"b":"1","c":"yes","d":null,"e":1.5,"f":true})");
    EXPECT_EQ(parse_yaml(std::string(200, '[') + std::string(200, ']'), "x").error().text,
              "x: nested too deep");
    EXPECT_EQ(parse_yaml("a: 1\na: 2\n", "x").error().text, "x: the key 'a' stands twice");
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 9; ++i) {
        bomb += concat("a", i, ": &a", i, " [");
        for (int j = 0; j < 10; ++j) bomb += concat(j ? "," : "", "*a", i - 1);
        bomb += "]\n";
    }
    EXPECT_EQ(parse_yaml(bomb, "x").error().text, "x: more than 100000 values");
}

TEST(Help, EveryTopic) {
    const std::string overview = serve_help("").value();
    EXPECT_LT(std::count(overview.begin(), overview.end(), '\n'), 40);  // Fits a screen.
    for (const char* knob :
         {"--[no-]enable-chunked-prefill", "--max-num-batched-tokens", "--max-num-seqs",
          "--gpu-memory-utilization", "--max-model-len", "--[no-]enable-prefix-caching"}) {
        EXPECT_NE(overview.find(knob), std::string::npos) << knob;
    }
    const std::string all = serve_help("all").value();
    for (const FlagSpec& flag : serve_flags()) {
        EXPECT_NE(all.find(flag.name), std::string::npos) << flag.name;
        EXPECT_TRUE(serve_help(flag.name).has_value());
    }
    EXPECT_TRUE(serve_help("Scheduler").has_value());
    EXPECT_EQ(serve_help("max-model-lenn").error().text,
              "no help for 'max-model-lenn' (nearest: max-model-len)");
}

SchedulerConfig resolve(const Arguments& arguments, int64_t max_model_len) {
    const Result<ResolvedScheduler> out = resolve_scheduler(load(arguments).config, max_model_len);
    EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().text);
    return out ? out->scheduler : SchedulerConfig{};
}

std::string resolve_refusal(const Arguments& arguments, int64_t max_model_len) {
    const Result<ResolvedScheduler> out = resolve_scheduler(load(arguments).config, max_model_len);
    return out ? "accepted" : out.error().text;
}

TEST(Resolve, DefaultsOfTheCpuBackend) {
    EXPECT_EQ(resolve({}, 8192).max_num_batched_tokens, 2048);
    EXPECT_EQ(resolve({}, 8192).max_num_seqs, 128);
    EXPECT_EQ(resolve({"--max-num-batched-tokens", "64"}, 8192).max_num_seqs, 64);
    EXPECT_EQ(resolve({"--no-enable-chunked-prefill"}, 8192).max_num_batched_tokens, 8192);
    EXPECT_EQ(resolve({"--max-num-seqs", "2"}, 100).max_num_batched_tokens, 200);
    EXPECT_EQ(resolve({"--max-num-seqs", "2"}, 100).max_num_active_seqs, 2);
}

TEST(Resolve, ValidationsOfVllm) {
    EXPECT_EQ(
        resolve_refusal({"--no-enable-chunked-prefill", "--max-num-batched-tokens", "100"}, 200),
        "max_num_batched_tokens (100) is smaller than max_model_len (200), which limits the "
        "sequence length while "
        "chunked prefill is off: increase --max-num-batched-tokens or decrease --max-model-len");
    EXPECT_EQ(resolve_refusal({"--max-num-batched-tokens", "100", "--max-num-seqs", "200"}, 8192),
              "max_num_batched_tokens (100) must be greater than or equal to max_num_seqs (200)");
    EXPECT_EQ(resolve_refusal({"--max-num-seqs", "2", "--max-num-active-seqs", "3"}, 8192),
              "max_num_active_seqs (3) cannot be greater than max_num_seqs (2)");
    EXPECT_EQ(resolve_refusal({"--long-prefill-token-threshold", "300"}, 200),
              "long_prefill_token_threshold (300) cannot be greater than the max_model_len (200)");
    EXPECT_EQ(
        resolve_max_model_len(load({"--max-model-len", "9000"}).config, 8192, false).error().param,
        "max_model_len");
    EXPECT_EQ(resolve_max_model_len(load({"--max-model-len", "9000"}).config, 8192, true).value(),
              9000);
    EXPECT_EQ(resolve_max_model_len(load({"--max-model-len", "-1"}).config, 8192, false).value(),
              8192);
    EXPECT_EQ(resolve_max_model_len(load({}).config, 8192, false).value(), 8192);
}

}  // namespace weir
