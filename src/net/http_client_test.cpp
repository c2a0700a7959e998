#include "net/http_client.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "net/test_server.h"

namespace weir {

TEST(HttpClient, ParsesUrls) {
    const auto plain = parse_http_url("http://node:8000/v1/models?x=1#f");
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(plain->options.host, "node");
    EXPECT_EQ(plain->options.port, 8000);
    EXPECT_FALSE(plain->options.tls);
    EXPECT_EQ(plain->path, "/v1/models?x=1");
    const auto v6 = parse_http_url("HTTPS://[::1]");
    ASSERT_TRUE(v6.has_value());
    EXPECT_EQ(v6->options.host, "::1");
    EXPECT_EQ(v6->options.port, 443);
    EXPECT_TRUE(v6->options.tls);
    EXPECT_EQ(v6->path, "/");
    EXPECT_EQ(parse_http_url("https://[::1]:9/?a")->options.port, 9);
    EXPECT_EQ(parse_http_url("https://[::1]:9/?a")->path, "/?a");
    for (const char* url : {"", "node", "ftp://x/", "http://", "http://:80/", "http://x:0/",
                            "http://x:65536/", "http://x:8y/", "http://x:/"}) {
        const auto result = parse_http_url(url);
        ASSERT_FALSE(result.has_value()) << url;
        EXPECT_EQ(result.error().text,
                  concat("not a URL of the form http://host:port/path: ", url));
    }
}

TEST(HttpClient, JoinsEventLinesAndSkipsComments) {
    TestServer server([](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
        responder->send({200, {}, ": hello\n\nevent: x\ndata: a\ndata:b\r\n\r\nid: 1\n\ndata: c"});
    });
    HttpClient client = server.client();
    ASSERT_TRUE(client.open("GET", "/", {}, "").has_value());
    EXPECT_EQ(**client.read_event(), "a\nb");
    EXPECT_EQ(**client.read_event(), "c");
    EXPECT_FALSE(client.read_event()->has_value());
}

TEST(HttpClient, ReopensAConnectionThatTheServerClosed) {
    HttpServerOptions options = local_options();
    options.keep_alive_timeout = std::chrono::milliseconds(1);
    TestServer server(
        [](HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
            responder->send({200, {}, request.path});
        },
        options);
    HttpClient client = server.client();
    EXPECT_EQ(client.get("/1")->body, "/1");
    EXPECT_EQ(client.read_to_end().value(), "");  // Waits for the server's end.
    EXPECT_EQ(client.get("/2")->body, "/2");
}

TEST(HttpClient, TimeoutsAndLimitsAreErrors) {
    TestCounter arrived;
    std::shared_ptr<HttpResponder> kept;
    TestServer server([&](HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
        if (request.path == "/big") return responder->send({200, {}, std::string(200'000, 'x')});
        kept = responder;
    });
    HttpClientOptions options = server.client_options();
    options.timeout = std::chrono::milliseconds(10);
    const auto late = HttpClient::connect(options)->get("/");
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().text, concat("127.0.0.1:", options.port, ": no progress within 10 ms"));
    options.timeout = std::chrono::seconds(60);
    options.body_bytes_max = 100'000;
    const auto large = HttpClient::connect(options)->get("/big");
    ASSERT_FALSE(large.has_value());
    EXPECT_EQ(large.error().text,
              concat("127.0.0.1:", options.port, ": the answer is larger than the limit"));
}

}  // namespace weir
