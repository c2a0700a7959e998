// Every variant of tests/cases/http-framing.json against a handler with the routes it needs.

#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"
#include "net/test_server.h"

namespace weir {

namespace {

constexpr int64_t kBodyBytesMax = 1 << 20;

/// What api/ owns, with the reason; api's own test runs them.
const std::map<std::string, std::string> kLeftToApi = {
    {"options-preflight", "CORS is api's: net hands OPTIONS on as any method"},
    {"origin-on-error", "CORS is api's"},
    {"double-slash-and-trailing", "routing is api's: net hands the path on unchanged"},
    {"auth-schemes", "API keys are api's"},
};

bool is_chat(const std::string& path) { return path == "/v1/chat/completions"; }

std::optional<HttpResponse> check_header(const HttpRequest& head) {
    if (!is_chat(head.path)) return HttpResponse{404, {}, "not found"};
    const std::string* encoding = head.header("content-encoding");
    if (encoding) return HttpResponse{415, {}, "Content-Encoding " + *encoding + " is not taken"};
    return std::nullopt;
}

void handle(HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
    const bool is_get = request.path == "/health" || request.path == "/v1/models";
    if (is_get) {
        if (request.method == "GET") return responder->send({200, {}, "healthy"});
        return responder->send({405, {{"allow", "GET"}}, "Method Not Allowed"});
    }
    if (auto refusal = check_header(request)) return responder->send(std::move(*refusal));
    const Result<Json> body = parse_json(request.body);
    if (!body) return responder->send({400, {}, body.error().text});
    if (!(*body)["stream"].is_bool()) return responder->send({200, {}, "answer"});
    responder->begin_stream(200, {{"content-type", "text/event-stream; charset=utf-8"},
                                  {"cache-control", "no-cache"},
                                  {"x-accel-buffering", "no"}});
    responder->write("data: 1\n\n");
    responder->write("data: [DONE]\n\n");
    responder->end_stream();
}

int count_descriptors() {
    DIR* const folder = ::opendir("/proc/self/fd");
    int count = 0;
    while (::readdir(folder)) ++count;
    ::closedir(folder);
    return count;
}

class HttpFraming : public testing::Test {
 protected:
    HttpFraming()
        : server_(handle, options(),
                  [](HttpServer& server) { server.set_header_check(check_header); }) {}

    static HttpServerOptions options() {
        HttpServerOptions options = local_options();
        options.body_bytes_max = kBodyBytesMax;
        return options;
    }

    static std::string post(const std::string& fields, const std::string& body) {
        return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
    }

    HttpReply reply(HttpClient& client, bool head = false) {
        auto result = client.read_reply(head);
        EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text);
        return result.value_or(HttpReply{});
    }

    /// Sends each part and takes `num_replies` answers for it.
    std::vector<HttpReply> talk(HttpClient& client, const Json& parts, int num_replies,
                                bool head = false) {
        std::vector<HttpReply> replies;
        for (const Json& part : parts.items()) {
            EXPECT_TRUE(client.send_raw(part.as_string()).has_value());
            for (int i = 0; i < num_replies; ++i) replies.push_back(reply(client, head && i == 0));
        }
        return replies;
    }

    static bool is_usable(HttpClient& client) {
        if (!client.send_raw("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")) return false;
        const auto result = client.read_reply();
        return result && result->status == 200;
    }

    void expect_refused(const std::string& id, const Json& parts, const std::set<int>& statuses) {
        HttpClient client = server_.client();
        const HttpReply answer = talk(client, parts, 1).at(0);
        EXPECT_TRUE(statuses.count(answer.status)) << id << ": " << answer.status;
        ASSERT_NE(answer.header("connection"), nullptr) << id;
        EXPECT_EQ(*answer.header("connection"), "close") << id;
    }

    void run_expect(const std::string& id, const Json& variant);
    void run_stream(const std::string& id, const Json& parts);
    void run_recipe(const std::string& id);
    void run_plain(const std::string& id, const Json& parts);
    void run(const std::string& id, const Json& variant);

    TestServer server_;
};

void HttpFraming::run_expect(const std::string& id, const Json& variant) {
    HttpClient client = server_.client();
    ASSERT_TRUE(client.send_raw(variant["send"][0].as_string()).has_value());
    const HttpReply first = reply(client);
    if (id == "expect-100-wrong-path") {
        EXPECT_EQ(first.status, 404);
    } else if (id == "expect-100-too-big") {
        EXPECT_EQ(first.status, 413);
    } else {
        EXPECT_EQ(first.status, 100);
        ASSERT_TRUE(client.send_raw(variant["body"].as_string()).has_value());
        EXPECT_EQ(reply(client).status, 200);
        EXPECT_TRUE(is_usable(client));
    }
}

void HttpFraming::run_stream(const std::string& id, const Json& parts) {
    const std::string events = "data: 1\n\ndata: [DONE]\n\n";
    HttpClient client = server_.client();
    if (id == "http-1.0-stream") {
        ASSERT_TRUE(client.send_raw(parts[0].as_string()).has_value());
        const std::string all = client.read_to_end().value();
        EXPECT_EQ(all.find("ransfer-"), std::string::npos) << all;
        EXPECT_TRUE(all.ends_with("\r\n\r\n" + events)) << all;
        return;
    }
    const std::vector<HttpReply> replies = talk(client, parts, 1);
    EXPECT_EQ(replies.at(0).status, 200);
    EXPECT_EQ(replies.at(0).body, events);
    EXPECT_EQ(*replies.at(0).header("transfer-encoding"), "chunked");
    EXPECT_EQ(replies.at(0).header("content-encoding"), nullptr);
    EXPECT_EQ(*replies.at(0).header("cache-control"), "no-cache");
    EXPECT_EQ(*replies.at(0).header("content-type"), "text/event-stream; charset=utf-8");
    if (id == "stream-then-request") {
        EXPECT_EQ(replies.at(1).body, "answer");
    }
}

void HttpFraming::run_recipe(const std::string& id) {
    HttpClient client = server_.client();
    const std::string zeros(4096, '\0');
    if (id == "gzip-body" || id == "gzip-bomb" || id == "zstd-body") {
        const std::string encoding = id == "zstd-body" ? "zstd" : "gzip";
        const int num_parts = id == "gzip-bomb" ? 255 : 1;
        std::string body;
        for (int i = 0; i < num_parts; ++i) body += zeros;
        const std::string fields =
            concat("Content-Encoding: ", encoding, "\r\nContent-Length: ", body.size(), "\r\n");
        ASSERT_TRUE(client.send_raw(post(fields, body)).has_value());
        const HttpReply answer = reply(client);
        EXPECT_EQ(answer.status, 415);
        EXPECT_NE(answer.body.find(encoding), std::string::npos) << answer.body;
    } else if (id == "body-over-limit") {
        const std::string fields = concat("Content-Length: ", kBodyBytesMax + 1, "\r\n");
        ASSERT_TRUE(client.send_raw(post(fields, "")).has_value());
        EXPECT_EQ(reply(client).status, 413);
    } else if (id == "accept-encoding-gzip") {
        const std::string body = R"({"stream":true})";
        const std::string fields =
            concat("Accept-Encoding: gzip\r\nContent-Length: ", body.size(), "\r\n");
        ASSERT_TRUE(client.send_raw(post(fields, body)).has_value());
        const HttpReply answer = reply(client);
        EXPECT_EQ(answer.header("content-encoding"), nullptr);
        EXPECT_TRUE(answer.body.starts_with("data: 1\n\n"));
    } else if (id == "header-64k") {
        const std::string value(64 << 10, 'h');
        const std::string text =
            concat("GET /health HTTP/1.1\r\nHost: x\r\nA: ", value, "\r\n\r\n");
        ASSERT_TRUE(client.send_raw(text).has_value());
        EXPECT_EQ(reply(client).status, 200);
    } else {
        ADD_FAILURE() << "no test for the recipe " << id;
    }
}

void HttpFraming::run_plain(const std::string& id, const Json& parts) {
    const bool head = id.starts_with("head-");
    const int num_replies = id == "pipelined" || id == "head-models" ? 2 : 1;
    HttpClient client = server_.client();
    const std::vector<HttpReply> replies = talk(client, parts, num_replies, head);
    for (size_t i = 0; i < replies.size(); ++i) {
        const int want = head && i == 0 ? 405 : 200;
        EXPECT_EQ(replies[i].status, want) << id << ", answer " << i;
    }
    if (head) {
        EXPECT_EQ(*replies[0].header("allow"), "GET");
        EXPECT_EQ(*replies[0].header("content-length"), "18");
    }
    if (id == "http-1.0") {
        EXPECT_EQ(replies[0].header("transfer-encoding"), nullptr);
        EXPECT_EQ(client.read_to_end().value(), "");
    } else {
        EXPECT_TRUE(is_usable(client)) << id;
    }
}

void HttpFraming::run(const std::string& id, const Json& variant) {
    static const std::map<std::string, std::set<int>> kRefused = {{"chunk-size-huge", {400, 413}},
                                                                  {"chunk-size-junk", {400}},
                                                                  {"length-and-chunked", {400}},
                                                                  {"two-lengths-differ", {400}},
                                                                  {"length-negative", {400}},
                                                                  {"length-2^64", {400, 413}},
                                                                  {"bare-lf", {400}},
                                                                  {"not-http", {400}}};
    static const std::set<std::string> kStreams = {"stream-then-request", "http-1.0-stream",
                                                   "sse-headers"};
    static const std::set<std::string> kPlain = {"chunked-body",
                                                 "chunked-one-byte-each",
                                                 "chunked-extension-and-trailer",
                                                 "keep-alive-two",
                                                 "pipelined",
                                                 "http-1.0",
                                                 "head-health",
                                                 "head-models",
                                                 "absolute-uri",
                                                 "query-string"};
    const Json& parts = variant["send"];
    if (kRefused.count(id)) {
        expect_refused(id, parts, kRefused.at(id));
    } else if (id.starts_with("expect-100")) {
        run_expect(id, variant);
    } else if (kStreams.count(id)) {
        run_stream(id, parts);
    } else if (variant.find("recipe")) {
        run_recipe(id);
    } else if (kPlain.count(id)) {
        run_plain(id, parts);
    } else {
        ADD_FAILURE() << "no test for the variant " << id;
    }
}

}  // namespace

TEST_F(HttpFraming, EveryVariant) {
    const auto file = read_json_file(test_file("cases/http-framing.json"));
    ASSERT_TRUE(file.has_value()) << file.error().text;
    const int num_descriptors = count_descriptors();
    size_t num_run = 0;
    for (const Json& variant : (*file)["input"]["cases"].items()) {
        const std::string id = variant["id"].as_string();
        SCOPED_TRACE(id);
        if (kLeftToApi.count(id)) {
            std::printf("left to the API test: %s (%s)\n", id.c_str(), kLeftToApi.at(id).c_str());
            continue;
        }
        run(id, variant);
        ++num_run;
        HttpClient client = server_.client();
        EXPECT_TRUE(is_usable(client)) << "a new connection after " << id;
    }
    EXPECT_EQ(num_run + kLeftToApi.size(), 34u);
    server_.stop();  // Closes what lingers; the loop's own descriptors stay until destruction.
    EXPECT_LE(count_descriptors(), num_descriptors);
}

}  // namespace weir
