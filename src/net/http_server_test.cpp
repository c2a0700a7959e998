#include "net/http_server.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "net/test_server.h"

namespace weir {

namespace {

using std::chrono::milliseconds;

const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

void answer_path(HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
    responder->send({200, {{"x-query", request.query}}, request.path + request.body});
}

HttpReply must(Result<HttpReply> reply) {
    EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().text);
    return reply.value_or(HttpReply{});
}

}  // namespace

TEST(HttpServer, KeepsAliveAndSaysWhoItIs) {
    TestServer server(answer_path);
    HttpClient client = server.client();
    for (int i = 0; i < 3; ++i) {
        const HttpReply reply = must(client.post("/a?b=c", "body"));
        EXPECT_EQ(reply.status, 200);
        EXPECT_EQ(reply.body, "/abody");
        EXPECT_EQ(*reply.header("server"), "weir");
        EXPECT_EQ(*reply.header("x-query"), "b=c");
        EXPECT_EQ(reply.header("date")->size(), 29u);
        EXPECT_EQ(reply.header("connection"), nullptr);
    }
    EXPECT_EQ(server.server().counters().connections_total, 1);
    EXPECT_EQ(server.server().requests_in_flight(), 0);
    const HttpReply last = must(client.request("GET", "/", {{"connection", "close"}}, ""));
    EXPECT_EQ(*last.header("connection"), "close");
    EXPECT_EQ(must(client.get("/again")).body, "/again");  // On a new connection.
    EXPECT_EQ(server.server().counters().connections_total, 2);
}

TEST(HttpServer, Http10KeepsAliveOnlyIfAsked) {
    TestServer server(answer_path);
    HttpClient client = server.client();
    ASSERT_TRUE(client.send_raw("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    const HttpReply first = must(client.read_reply());
    EXPECT_EQ(*first.header("connection"), "keep-alive");
    ASSERT_TRUE(client.send_raw("GET /2 HTTP/1.0\r\n\r\n"));
    const HttpReply second = must(client.read_reply());
    EXPECT_EQ(second.body, "/2");
    EXPECT_EQ(*second.header("connection"), "close");
    EXPECT_EQ(client.read_to_end().value(), "");
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
    Held held;
    TestServer server(held.handler());
    HttpClient client = server.client();
    std::string burst;
    for (int i = 0; i < 3; ++i) burst += kGet;
    ASSERT_TRUE(client.send_raw(burst));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(held.arrived.wait_for(i + 1));
        const auto answer = [&] {
            EXPECT_EQ(held.responders.size(), static_cast<size_t>(i + 1));
            held.responders.back()->send({200, {}, std::to_string(i)});
        };
        server.on_io(answer);
        EXPECT_EQ(must(client.read_reply()).body, std::to_string(i));
    }
    EXPECT_EQ(held.closed.count(), 0);
}

TEST(HttpServer, StreamsChunksInOrder) {
    TestServer server([](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
        responder->begin_stream(200, {{"content-type", "text/event-stream"}});
        for (int i = 0; i < 1000; ++i) responder->write(concat("data: ", i, "\n\n"));
        responder->write("");
        responder->write("data: [DONE]\n\n");
        responder->end_stream();
    });
    HttpClient client = server.client();
    for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(must(client.open("POST", "/", {}, "{}")).status, 200);
        for (int i = 0; i < 1000; ++i) ASSERT_EQ(**client.read_event(), std::to_string(i));
        EXPECT_EQ(**client.read_event(), "[DONE]");
        EXPECT_FALSE(client.read_event().value().has_value());
    }
}

TEST(HttpServer, EachTurnOfAStreamLeavesAtOnce) {
    Held held;
    TestServer server(held.handler(true));
    HttpClient client = server.client();
    ASSERT_EQ(must(client.open("GET", "/", {}, "")).status, 200);
    ASSERT_TRUE(held.arrived.wait_for(1));
    for (int i = 0; i < 5; ++i) {
        server.on_io([&] { held.responders[0]->write(concat("data: ", i, "\n\n")); });
        EXPECT_EQ(**client.read_event(), std::to_string(i));
    }
    EXPECT_EQ(server.server().requests_in_flight(), 1);
    server.on_io([&] { held.responders[0]->end_stream(); });
    EXPECT_FALSE(client.read_event().value().has_value());
}

TEST(HttpServer, HangUpIsNoticedWithoutWriting) {
    enum class How { kClose, kHalfClose, kReset };
    for (const How how : {How::kClose, How::kHalfClose, How::kReset}) {
        Held held;
        TestServer server(held.handler());
        HttpClient client = server.client();
        ASSERT_TRUE(client.send_raw(kGet));
        ASSERT_TRUE(held.arrived.wait_for(1));
        if (how == How::kClose) client.close();
        if (how == How::kHalfClose) client.shutdown_write();
        if (how == How::kReset) client.abort();
        ASSERT_TRUE(held.closed.wait_for(1));
        const auto answer_too_late = [&] {
            EXPECT_TRUE(held.responders[0]->closed());
            held.responders[0]->send({200, {}, "ignored"});
            held.responders[0]->begin_stream(200, {});
            held.responders[0]->write("ignored");
            held.responders[0]->end_stream();
        };
        server.on_io(answer_too_late);
        EXPECT_EQ(held.closed.count(), 1);
        EXPECT_EQ(server.server().requests_in_flight(), 0);
        EXPECT_EQ(server.server().counters().connections_open, 0);
    }
}

TEST(HttpServer, HalfCloseAfterAnAnsweredRequestLosesNothing) {
    const std::string large(8 << 20, 'x');
    TestServer server([&](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
        responder->send({200, {}, large});
    });
    HttpClient client = server.client();
    ASSERT_TRUE(client.send_raw(kGet));
    client.shutdown_write();
    EXPECT_EQ(must(client.read_reply()).body.size(), large.size());
}

TEST(HttpServer, UpgradesAreIgnored) {
    TestServer server(answer_path);
    HttpClient client = server.client();
    const HttpReply reply = must(client.request(
        "GET", "/", {{"connection", "Upgrade, HTTP2-Settings"}, {"upgrade", "h2c"}}, ""));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(must(client.get("/again")).body, "/again");
}

TEST(HttpServer, StopAcceptingLetsRequestsFinish) {
    Held held;
    TestServer server(held.handler());
    HttpClient idle = server.client();
    HttpClient busy = server.client();
    ASSERT_TRUE(busy.send_raw(kGet));
    ASSERT_TRUE(held.arrived.wait_for(1));
    server.server().stop_accepting();
    EXPECT_EQ(idle.read_to_end().value(), "");
    EXPECT_FALSE(HttpClient::connect(server.client_options()).has_value());
    EXPECT_EQ(server.server().requests_in_flight(), 1);
    server.on_io([&] { held.responders[0]->send({200, {}, "done"}); });
    const HttpReply reply = must(busy.read_reply());
    EXPECT_EQ(reply.body, "done");
    EXPECT_EQ(*reply.header("connection"), "close");
    EXPECT_EQ(busy.read_to_end().value(), "");
    EXPECT_EQ(server.server().requests_in_flight(), 0);
}

TEST(HttpServer, StopEndsOpenRequestsAndTellsThem) {
    Held held;
    TestServer server(held.handler(true));
    HttpClient client = server.client();
    ASSERT_EQ(must(client.open("GET", "/", {}, "")).status, 200);
    ASSERT_TRUE(held.arrived.wait_for(1));
    server.stop();
    EXPECT_EQ(held.closed.count(), 1);
    EXPECT_FALSE(client.read_part().has_value());
    EXPECT_EQ(server.server().requests_in_flight(), 0);
}

TEST(HttpServer, ForgottenRequestsGetA500) {
    TestServer server([](HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
        if (request.path == "/stream") responder->begin_stream(200, {});
    });
    HttpClient client = server.client();
    const HttpReply reply = must(client.get("/"));
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body, "the request got no answer");
    ASSERT_EQ(must(client.open("GET", "/stream", {}, "")).status, 200);
    EXPECT_FALSE(client.read_part().has_value());  // Cut off, not ended.
}

TEST(HttpServer, RefusalsUseTheErrorAnswerAndSurviveUploads) {
    HttpServerOptions options = local_options();
    options.body_bytes_max = 1000;
    TestServer server(answer_path, options, [](HttpServer& made) {
        made.set_error_answer([](int status, std::string_view text) {
            return HttpResponse{status, {{"x-shaped", "yes"}}, concat("{", text, "}")};
        });
    });
    HttpClient client = server.client();
    // The client sends all of it before it reads: the answer must not be lost to a reset.
    const HttpReply reply = must(client.post("/", std::string(20 << 20, 'x')));
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.body, "{the body is larger than the limit}");
    EXPECT_EQ(*reply.header("x-shaped"), "yes");
    EXPECT_EQ(server.server().counters().bad_requests_total, 1);
}

TEST(HttpServer, TimersRunOnceAndCanBeCancelled) {
    TestServer server(answer_path);
    TestCounter fired;
    std::shared_ptr<void> kept, cancelled;
    server.on_io([&] {
        cancelled = server.server().after(milliseconds(1), [&] { ADD_FAILURE() << "cancelled"; });
        cancelled.reset();
        kept = server.server().after(milliseconds(2), [&] { fired.add(); });
    });
    EXPECT_TRUE(fired.wait_for(1));
    server.on_io([&] { kept.reset(); });
    EXPECT_EQ(fired.count(), 1);
}

TEST(HttpServer, HeadAndEmptyAnswersHaveNoBody) {
    TestServer server([](HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
        if (request.path == "/204") return responder->send({204, {}, "never"});
        if (request.path == "/send") return responder->send({200, {}, "12345"});
        responder->begin_stream(200, {});
        responder->write("12345");
        responder->end_stream();
    });
    HttpClient client = server.client();
    EXPECT_EQ(*must(client.request("HEAD", "/send", {}, "")).header("content-length"), "5");
    EXPECT_EQ(must(client.request("HEAD", "/stream", {}, "")).body, "");
    EXPECT_EQ(must(client.get("/204")).header("content-length"), nullptr);
    EXPECT_EQ(must(client.get("/send")).body, "12345");
    EXPECT_EQ(server.server().counters().connections_total, 1);
}

}  // namespace weir
