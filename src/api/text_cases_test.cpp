// tests/cases/stop-strings-stream.json and utf8-stream.json through the whole front end, with and
// without stream.

#include <gtest/gtest.h>

#include "api/api_fakes.h"
#include "base/testing.h"

namespace weir {
namespace {

using fakes::FrontEnd;
using fakes::PieceTokenizer;

Json load(const std::string& name) {
    auto file = read_json_file(test_file("cases/" + name));
    EXPECT_TRUE(file) << name;
    return file ? std::move(*file) : Json();
}

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

struct Result {
    std::string text;
    std::string finish_reason;
    Json stop_reason;
    int64_t tokens = 0;
    std::vector<std::string> deltas;
};

/// Plays the pieces, one a token, and reads the answer of either route.
Result play(const std::vector<std::string>& pieces, Json body, bool chat, bool stream) {
    FrontEnd front(pieces);
    for (size_t i = 0; i < pieces.size(); ++i) {
        front.engine.script.push_back(PieceTokenizer::kFirstPiece + static_cast<TokenId>(i));
    }
    body.set("max_tokens", Json(static_cast<int64_t>(pieces.size())));
    body.set("stream", Json(stream));
    if (stream) body.set("stream_options", Json::object({{"include_usage", true}}));
    if (chat) {
        body.set("messages", Json::array({Json::object({{"role", "user"}, {"content", "hi"}})}));
    } else if (!body.find("prompt")) {
        body.set("prompt", "ends with a");
    }
    const auto answer = chat ? front.chat(body.dump()) : front.complete(body.dump());
    EXPECT_EQ(answer->status, 200) << answer->body;
    Result result;
    if (!stream) {
        const Json json = answer->json();
        const Json& choice = json["choices"][0];
        result.text = (chat ? choice["message"]["content"] : choice["text"]).as_string();
        result.finish_reason = choice["finish_reason"].as_string();
        result.stop_reason = choice["stop_reason"];
        result.tokens = json["usage"]["completion_tokens"].as_int();
        return result;
    }
    for (const Json& event : answer->events()) {
        if (event.is_string()) continue;
        if (event.find("usage")) result.tokens = event["usage"]["completion_tokens"].as_int();
        if (event["choices"].size() == 0) continue;
        const Json& choice = event["choices"][0];
        const Json& delta = chat ? choice["delta"]["content"] : choice["text"];
        EXPECT_TRUE(is_utf8(delta.as_string()));
        EXPECT_TRUE(result.finish_reason.empty()) << "text behind the end";
        result.text += delta.as_string();
        result.deltas.push_back(delta.as_string());
        if (choice["finish_reason"].is_null()) continue;
        result.finish_reason = choice["finish_reason"].as_string();
        result.stop_reason = choice["stop_reason"];
    }
    return result;
}

struct Form {
    bool chat, stream;
};
constexpr Form kForms[] = {{false, false}, {false, true}, {true, false}, {true, true}};

TEST(StopStringCases, Pieces) {
    const Json file = load("stop-strings-stream.json");
    ASSERT_GE(file["input"]["cases"].size(), 15U);
    for (const Json& one : file["input"]["cases"].items()) {
        for (const auto [chat, stream] : kForms) {
            SCOPED_TRACE(concat(one["id"].as_string(), chat ? " chat" : " completions",
                                stream ? " stream" : ""));
            std::vector<std::string> pieces;
            for (const Json& piece : one["pieces"].items()) pieces.push_back(piece.as_string());
            Json body = Json::object({{"stop", one["stop"]}});
            if (one.find("include")) body.set("include_stop_str_in_output", one["include"]);
            if (one.find("min_tokens")) body.set("min_tokens", one["min_tokens"]);
            const Result got = play(pieces, body, chat, stream);
            const Json& want = one["expect"];
            EXPECT_EQ(got.text, want["text"].as_string());
            EXPECT_EQ(got.finish_reason, want["finish_reason"].as_string());
            EXPECT_EQ(got.stop_reason, want["stop_reason"]);
            EXPECT_EQ(got.tokens, want["tokens"].as_int());
        }
    }
}

TEST(StopStringCases, Requests) {
    const Json file = load("stop-strings-stream.json");
    for (const Json& one : file["input"]["requests"].items()) {
        FrontEnd front({"END"});
        front.engine.script = {PieceTokenizer::kFirstPiece};
        Json body = Json::object({{"prompt", "p"}, {"max_tokens", 2}});
        if (one.find("stop_recipe")) {
            Json many = Json::array();
            for (int i = 0; i < 100'000; ++i) many.push_back(Json(concat("s", i)));
            body.set("stop", std::move(many));
        } else {
            body.set("stop", one["stop"]);
        }
        const auto answer = front.complete(body.dump());
        if (one.find("same_as")) {
            ASSERT_EQ(answer->status, 200) << answer->body;
            std::vector<std::string> want;
            for (const Json& stop : one["same_as"].items()) want.push_back(stop.as_string());
            EXPECT_EQ(front.engine.seen.at(0).params.stop, want);
            continue;
        }
        EXPECT_EQ(answer->status, 400);
        const Json error = answer->json()["error"];
        const bool many = one.find("stop_recipe") != nullptr;
        EXPECT_EQ(error["param"], many ? Json("body.stop") : Json());
        EXPECT_NE(error["message"].as_string().find(many ? "at most 4" : "empty string"),
                  std::string::npos);
    }
}

TEST(Utf8Cases, Tokens) {
    const Json file = load("utf8-stream.json");
    ASSERT_GE(file["input"]["cases"].size(), 17U);
    for (const Json& one : file["input"]["cases"].items()) {
        for (const auto [chat, stream] : kForms) {
            SCOPED_TRACE(concat(one["id"].as_string(), chat ? " chat" : " completions",
                                stream ? " stream" : ""));
            std::vector<std::string> pieces;
            for (const Json& hex : one["token_bytes_hex"].items()) {
                pieces.push_back(from_hex(hex.as_string()));
            }
            Json body = Json::object();
            if (one.find("prompt_tail_hex")) {
                if (chat) continue;  // A rendered prompt never ends in half a character.
                Json ids = Json::array();
                for (const char c : from_hex(one["prompt_tail_hex"].as_string())) {
                    ids.push_back(Json(static_cast<int>(static_cast<unsigned char>(c))));
                }
                body.set("prompt", std::move(ids));
            }
            const Result got = play(pieces, body, chat, stream);
            EXPECT_EQ(got.tokens, static_cast<int64_t>(pieces.size()));
            if (one.find("accept_first")) {
                const auto& good = one["accept_first"].items();
                EXPECT_NE(std::ranges::find(good, Json(got.text)), good.end()) << got.text;
            } else {
                EXPECT_EQ(got.text, one["final_text"].as_string());
            }
        }
    }
}

TEST(Utf8Cases, WholeCharactersDoNotWait) {
    const Result got = play({from_hex("20f0"), from_hex("9f9880")}, Json::object(), false, true);
    ASSERT_EQ(got.deltas.size(), 2U);
    EXPECT_EQ(got.deltas[0], " ");
    EXPECT_EQ(got.deltas[1], "\xf0\x9f\x98\x80");
}

TEST(Utf8Cases, LogprobsCarryRawBytesAndWholeCharacters) {
    FrontEnd front({from_hex("f09f"), from_hex("9880")});
    front.engine.script = {PieceTokenizer::kFirstPiece, PieceTokenizer::kFirstPiece + 1};
    const auto answer = front.chat(
        R"({"messages":[{"role":"user","content":"x"}],"max_tokens":2,"logprobs":true})");
    const Json json = answer->json();
    const Json& content = json["choices"][0]["logprobs"]["content"];
    ASSERT_EQ(content.size(), 2U) << answer->body;
    EXPECT_EQ(content[0]["token"].as_string(), "");
    EXPECT_EQ(content[0]["bytes"], Json::array({0xf0, 0x9f}));
    EXPECT_EQ(content[1]["token"].as_string(), "\xf0\x9f\x98\x80");
    EXPECT_EQ(content[1]["bytes"], Json::array({0x98, 0x80}));
    EXPECT_EQ(content[0]["top_logprobs"].size(), 0U);
}

}  // namespace
}  // namespace weir
