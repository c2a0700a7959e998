#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"

namespace weir {

/// Seeds of a property test: some fixed, one drawn from the commit (WEIR_COMMIT, set by
/// tools/ci.py). WEIR_SEED=7 runs that one only.
inline std::vector<Random> test_seeds() {
    if (const char* seed = std::getenv("WEIR_SEED")) {
        return {Random(std::strtoull(seed, nullptr, 10))};
    }
    std::vector<Random> seeds;
    for (uint64_t seed = 1; seed <= 8; ++seed) seeds.emplace_back(seed);
    uint64_t drawn = 0;
    if (const char* commit = std::getenv("WEIR_COMMIT")) {
        for (const char* c = commit; *c; ++c) drawn = mix64(drawn + static_cast<unsigned char>(*c));
    }
    seeds.emplace_back(drawn % 1'000'000);
    return seeds;
}

#ifdef WEIR_SOURCE_DIR  // Test programs only.
/// A file below tests/ in the source tree, e.g. test_file("cases/utf8-stream.json").
inline std::string test_file(const std::string& name) {
    return std::string(WEIR_SOURCE_DIR) + "/tests/" + name;
}
#endif

/// A model file that `tools/get_model.py` put into the cache: "smollm2" or "gemma3". Tests that
/// need one fail without it: `make test` gets both first.
inline std::string test_model(const std::string& name) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::string root =
        cache && *cache ? cache : std::string(home ? home : "/root") + "/.cache";
    return root + "/weir/models/" +
           (name == "gemma3" ? "gemma-3-270m-q4_k_m.gguf" : "SmolLM2-135M-Instruct.Q4_1.gguf");
}

}  // namespace weir
