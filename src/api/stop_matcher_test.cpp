#include "api/stop_matcher.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace weir {
namespace {

struct Outcome {
    std::string text;
    int32_t stop = -1;
    size_t pieces = 0;
    bool operator==(const Outcome&) const = default;
};

Outcome run(const std::vector<std::string>& pieces, const std::vector<std::string>& stops,
            bool include = false, size_t min_pieces = 0) {
    StopMatcher matcher(stops, include);
    Outcome outcome;
    for (const std::string& piece : pieces) {
        ++outcome.pieces;
        const StopMatcher::Found found = matcher.push(piece, outcome.pieces > min_pieces);
        outcome.text += found.text;
        outcome.stop = found.stop;
        if (found.stop >= 0) return outcome;
    }
    outcome.text += matcher.finish();
    return outcome;
}

/// The rule of reference 5.6 on the whole text: after each piece, the match that ends first among
/// those that end in the piece.
Outcome run_naively(const std::vector<std::string>& pieces, const std::vector<std::string>& stops,
                    bool include, size_t min_pieces) {
    Outcome outcome;
    std::string text;
    for (const std::string& piece : pieces) {
        const size_t before = text.size();
        text += piece;
        if (++outcome.pieces <= min_pieces) continue;
        for (size_t end = before + 1; end <= text.size(); ++end) {
            for (size_t s = 0; s < stops.size(); ++s) {
                if (!std::string_view(text).substr(0, end).ends_with(stops[s])) continue;
                outcome.stop = static_cast<int32_t>(s);
                outcome.text = text.substr(0, include ? end : end - stops[s].size());
                return outcome;
            }
        }
    }
    outcome.text = text;
    return outcome;
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBeginAStop) {
    StopMatcher matcher({"END"}, false);
    EXPECT_EQ(matcher.push("hello", true).text, "hello");
    EXPECT_EQ(matcher.push(" E", true).text, " ");
    EXPECT_EQ(matcher.push("N", true).text, "");
    EXPECT_EQ(matcher.push("Q", true).text, "ENQ");
    EXPECT_EQ(matcher.push("E", true).text, "");
    EXPECT_EQ(matcher.finish(), "E");
}

TEST(StopMatcher, IncludeHoldsNothing) {
    StopMatcher matcher({"END"}, true);
    EXPECT_EQ(matcher.push("aE", true).text, "aE");
    const auto found = matcher.push("NDx", true);
    EXPECT_EQ(found.text, "ND");
    EXPECT_EQ(found.stop, 0);
}

TEST(StopMatcher, NoStopsPassEverything) { EXPECT_EQ(run({"a", "b"}, {}), (Outcome{"ab", -1, 2})); }

TEST(StopMatcher, AgreesWithTheRuleOnRandomTexts) {
    for (Random random : test_seeds()) {
        for (int round = 0; round < 3000; ++round) {
            const auto word = [&](int64_t size_max) {
                std::string text;
                for (int64_t i = random.between(1, size_max); i > 0; --i) {
                    text += static_cast<char>('a' + random.below(2));
                }
                return text;
            };
            std::vector<std::string> stops, pieces;
            for (int64_t i = random.between(0, 4); i > 0; --i) stops.push_back(word(5));
            for (int64_t i = random.between(0, 12); i > 0; --i) {
                pieces.push_back(random.chance(0.1) ? "" : word(4));
            }
            const bool include = random.chance(0.3);
            const auto min_pieces = static_cast<size_t>(random.below(4));
            const Outcome want = run_naively(pieces, stops, include, min_pieces);
            const Outcome got = run(pieces, stops, include, min_pieces);
            ASSERT_EQ(got.text, want.text) << random.replay();
            ASSERT_EQ(got.stop, want.stop) << random.replay();
            ASSERT_EQ(got.pieces, want.pieces) << random.replay();
        }
    }
}

TEST(StopMatcher, LongStopsCostNoMore) {
    // Quadratic work would not end within the test's time limit.
    const std::string stop(1'000'000, 'a');
    StopMatcher matcher({stop + "b"}, false);
    for (int i = 0; i < 2000; ++i) matcher.push(std::string(1000, 'a'), true);
    EXPECT_EQ(matcher.finish().size(), stop.size());
}

}  // namespace
}  // namespace weir
