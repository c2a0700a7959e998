// Runs a libFuzzer target where libFuzzer is missing (g++): first every file that is named, or that
// lies in a folder that is named, then random mutations of them. Not coverage-guided: good for
// smoke runs under sanitizers and for replaying findings; clang's libFuzzer digs deeper.
//
//   gguf_fuzz -runs=10000 -max_total_time=20 -seed=7 -max_len=4096 tests/corpus/gguf crash.bin
//
// Without -runs and -max_total_time only the files are run. An input that crashes is left in
// TARGET-crash.bin in the working directory, which is written before each run.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) __attribute__((weak));
/// A target may know its format (checksums, records) and mutate better.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) __attribute__((weak));

namespace {

using Input = std::vector<uint8_t>;

struct Options {
    int64_t runs = -1;
    int64_t seconds_max = -1;
    uint64_t seed = 1;
    size_t bytes_max = 4096;
    std::vector<std::string> paths;
};

bool take_number(const char* argument, const char* name, int64_t* value) {
    const size_t length = std::strlen(name);
    if (std::strncmp(argument, name, length) != 0) return false;
    *value = std::strtoll(argument + length, nullptr, 10);
    return true;
}

Options parse_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        int64_t value = 0;
        if (take_number(argv[i], "-runs=", &options.runs)) continue;
        if (take_number(argv[i], "-max_total_time=", &options.seconds_max)) continue;
        if (take_number(argv[i], "-seed=", &value)) {
            options.seed = static_cast<uint64_t>(value);
        } else if (take_number(argv[i], "-max_len=", &value) && value > 0) {
            options.bytes_max = static_cast<size_t>(value);
        } else if (argv[i][0] == '-') {
            // libFuzzer has many more flags; one script calls both, so they are passed over.
            std::fprintf(stderr, "fuzz_driver: %s has no effect here\n", argv[i]);
        } else {
            options.paths.emplace_back(argv[i]);
        }
    }
    return options;
}

Input read_input(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return Input(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

bool add_inputs(const std::string& name, std::vector<Input>& inputs) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
        if (!std::filesystem::is_regular_file(name, error)) {
            std::fprintf(stderr, "fuzz_driver: no such file or folder: %s\n", name.c_str());
            return false;
        }
        inputs.push_back(read_input(name));
        return true;
    }
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(name)) {
        if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());  // The order of a directory must not change a seed.
    for (const auto& path : found) inputs.push_back(read_input(path));
    return true;
}

/// Numbers at the edges of their types, where counts and lengths go wrong.
uint64_t edge_number(weir::Random& random) {
    const int shift = static_cast<int>(random.below(65));
    const uint64_t power = shift == 64 ? 0 : uint64_t{1} << shift;
    return power + static_cast<uint64_t>(random.between(-2, 2));
}

void insert_bytes(Input& input, size_t at, const uint8_t* data, size_t size, size_t bytes_max) {
    const size_t room = bytes_max > input.size() ? bytes_max - input.size() : 0;
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), data,
                 data + std::min(size, room));
}

void mutate_once(Input& input, const std::vector<Input>& corpus, weir::Random& random,
                 size_t bytes_max) {
    const auto size = static_cast<int64_t>(input.size());
    const auto at = static_cast<size_t>(random.below(size + 1));
    const int64_t left = size - static_cast<int64_t>(at);
    switch (random.below(7)) {
        case 0:  // Flip a bit.
            if (left > 0) input[at] ^= static_cast<uint8_t>(1U << random.below(8));
            break;
        case 1:  // Set a byte.
            if (left > 0) input[at] = static_cast<uint8_t>(random.below(256));
            break;
        case 2: {  // Overwrite by a little-endian number of 1, 2, 4 or 8 bytes.
            const uint64_t number = edge_number(random);
            const int64_t width = int64_t{1} << random.below(4);
            if (left >= width) std::memcpy(&input[at], &number, static_cast<size_t>(width));
            break;
        }
        case 3:  // Cut the end off.
            input.resize(at);
            break;
        case 4: {  // Remove a piece.
            const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at);
            if (left > 0) input.erase(begin, begin + random.between(1, std::min<int64_t>(left, 64)));
            break;
        }
        case 5: {  // Repeat a piece of the input somewhere.
            if (left == 0) break;
            const int64_t count = random.between(1, std::min<int64_t>(left, 64));
            const Input piece(input.begin() + static_cast<std::ptrdiff_t>(at),
                              input.begin() + static_cast<std::ptrdiff_t>(at) + count);
            const auto target = static_cast<size_t>(random.below(size + 1));
            insert_bytes(input, target, piece.data(), piece.size(), bytes_max);
            break;
        }
        default: {  // Insert a piece of another input.
            const Input& other =
                corpus[static_cast<size_t>(random.below(static_cast<int64_t>(corpus.size())))];
            if (other.empty()) break;
            const auto other_size = static_cast<int64_t>(other.size());
            const auto from = static_cast<size_t>(random.below(other_size));
            const int64_t count =
                random.between(1, std::min<int64_t>(other_size - static_cast<int64_t>(from), 64));
            insert_bytes(input, at, other.data() + from, static_cast<size_t>(count), bytes_max);
        }
    }
}

Input make_input(const std::vector<Input>& corpus, weir::Random& random, size_t bytes_max) {
    Input input = corpus[static_cast<size_t>(random.below(static_cast<int64_t>(corpus.size())))];
    if (input.size() > bytes_max) input.resize(bytes_max);
    if (LLVMFuzzerCustomMutator && random.chance(0.5)) {
        const size_t size = input.size();
        input.resize(std::max(bytes_max, size_t{1}));
        const auto seed = static_cast<unsigned int>(random.next());
        input.resize(LLVMFuzzerCustomMutator(input.data(), size, bytes_max, seed));
        return input;
    }
    for (int64_t i = random.between(1, 5); i > 0; --i) {
        mutate_once(input, corpus, random, bytes_max);
    }
    return input;
}

/// The input lies in a file before it runs, since no handler works after every kind of crash.
class CrashFile {
   public:
    explicit CrashFile(const char* program)
        : name_(std::filesystem::path(program).filename().string() + "-crash.bin"),
          fd_(::open(name_.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644)) {}
    void save(const Input& input) const {
        if (fd_ < 0) return;
        const auto size = static_cast<off_t>(input.size());
        if (::pwrite(fd_, input.data(), input.size(), 0) != size || ::ftruncate(fd_, size) != 0) {
            std::fprintf(stderr, "fuzz_driver: cannot write %s\n", name_.c_str());
        }
    }
    void remove() const {
        if (fd_ < 0) return;
        ::close(fd_);
        ::unlink(name_.c_str());
    }

   private:
    std::string name_;
    int fd_;
};

void run_one(const Input& input) {
    // A copy of exactly this size on the heap, so that a sanitizer sees a read past its end.
    const std::vector<uint8_t> exact(input);
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    const Options options = parse_options(argc, argv);
    std::vector<Input> corpus;
    for (const std::string& path : options.paths) {
        if (!add_inputs(path, corpus)) return 1;
    }
    const CrashFile crash_file(argv[0]);
    for (const Input& input : corpus) {
        crash_file.save(input);
        run_one(input);
    }
    std::printf("fuzz_driver: %zu inputs from files\n", corpus.size());
    if (corpus.empty()) corpus.emplace_back();

    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(std::max<int64_t>(options.seconds_max, 0));
    const bool mutating = options.runs > 0 || options.seconds_max > 0;
    weir::Random random(options.seed);
    int64_t num_runs = 0;
    while (mutating && (options.runs < 0 || num_runs < options.runs) &&
           (options.seconds_max < 0 || Clock::now() < end)) {
        const Input input = make_input(corpus, random, options.bytes_max);
        crash_file.save(input);
        run_one(input);
        ++num_runs;
    }
    crash_file.remove();
    std::printf("fuzz_driver: %lld mutations, seed %llu: no crash\n",
                static_cast<long long>(num_runs), static_cast<unsigned long long>(options.seed));
    return 0;
}
