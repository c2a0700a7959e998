// What a client can cost: time-outs, buffers, connections.

#include <gtest/gtest.h>

#include <vector>

#include "net/test_server.h"
#include "os/process.h"

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

TEST(HttpServerBounds, PipelineWithoutReadingIsBounded) {
    const std::string large(100'000, 'x');
    TestServer server([&](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
        responder->send({200, {}, large});
    });
    HttpClient client = server.client();
    std::string burst;
    for (int i = 0; i < 1000; ++i) burst += kGet;
    ASSERT_TRUE(client.send_raw(burst));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(must(client.read_reply()).body.size(), large.size());
    EXPECT_EQ(must(client.get("/")).status, 200);
}

TEST(HttpServerBounds, SlowReaderIsDroppedBeyondItsBuffer) {
    Held held;
    HttpServerOptions options = local_options();
    options.stream_buffer_bytes_max = 100'000;
    TestServer server(held.handler(true), options);
    HttpClient client = server.client();
    ASSERT_EQ(must(client.open("GET", "/", {}, "")).status, 200);
    ASSERT_TRUE(held.arrived.wait_for(1));
    const std::string chunk(50'000, 'x');
    bool dropped = false;
    for (int i = 0; i < 2000 && !dropped; ++i) {
        const auto write = [&] {
            held.responders[0]->write(chunk);
            dropped = held.responders[0]->closed();
        };
        server.on_io(write);
    }
    EXPECT_TRUE(dropped);
    EXPECT_TRUE(held.closed.wait_for(1));
}

TEST(HttpServerBounds, SlowReaderTimesOut) {
    Held held;
    HttpServerOptions options = local_options();
    options.stream_buffer_bytes_max = 64 << 20;
    options.write_timeout = milliseconds(20);
    TestServer server(held.handler(true), options);
    HttpClient client = server.client();
    ASSERT_EQ(must(client.open("GET", "/", {}, "")).status, 200);
    ASSERT_TRUE(held.arrived.wait_for(1));
    server.on_io([&] { held.responders[0]->write(std::string(32 << 20, 'x')); });
    EXPECT_TRUE(held.closed.wait_for(1));
}

TEST(HttpServerBounds, SlowClientsTimeOut) {
    HttpServerOptions options = local_options();
    options.body_timeout = options.keep_alive_timeout = milliseconds(20);
    TestServer server(answer_path, options);

    HttpClient body = server.client();
    ASSERT_TRUE(body.send_raw("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n123"));
    EXPECT_EQ(must(body.read_reply()).body, "the request did not arrive in time");

    HttpClient idle = server.client();
    ASSERT_TRUE(idle.send_raw(kGet));
    EXPECT_EQ(must(idle.read_reply()).status, 200);
    EXPECT_EQ(idle.read_to_end().value(), "");
}

TEST(HttpServerBounds, SlowHeadersTimeOut) {
    HttpServerOptions options = local_options();
    options.header_timeout = milliseconds(500);  // The client must get its first byte in before.
    TestServer server(answer_path, options);
    HttpClient silent = server.client();
    HttpClient header = server.client();
    ASSERT_TRUE(header.send_raw("GET / HT"));
    EXPECT_EQ(must(header.read_reply()).status, 408);
    EXPECT_EQ(header.read_to_end().value(), "");
    EXPECT_EQ(silent.read_to_end().value(), "");
}

TEST(HttpServerBounds, PendingAnswersDoNotTimeOut) {
    Held held;
    HttpServerOptions options = local_options();
    options.body_timeout = milliseconds(5);
    options.keep_alive_timeout = options.write_timeout = milliseconds(5);
    TestServer server(held.handler(), options);
    HttpClient client = server.client();
    ASSERT_TRUE(client.send_raw(kGet));
    ASSERT_TRUE(held.arrived.wait_for(1));
    TestCounter later;
    std::shared_ptr<void> timer;
    server.on_io([&] {
        timer = server.server().after(milliseconds(50), [&] {
            held.responders[0]->send({200, {}, "late"});
            later.add();
        });
    });
    ASSERT_TRUE(later.wait_for(1));
    EXPECT_EQ(must(client.read_reply()).body, "late");
    server.on_io([&] { timer.reset(); });
}

TEST(HttpServerBounds, TooManyConnectionsGetA503) {
    HttpServerOptions options = local_options();
    options.connections_max = 2;
    TestServer server(answer_path, options);
    HttpClient first = server.client();
    HttpClient second = server.client();
    EXPECT_EQ(must(first.get("/")).status, 200);
    EXPECT_EQ(must(second.get("/")).status, 200);
    HttpClient third = server.client();
    const HttpReply reply = must(third.get("/"));  // Sent into the refusal, which survives it.
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body, "too many connections: try again later");
    EXPECT_EQ(*reply.header("connection"), "close");
    EXPECT_EQ(server.server().counters().connections_refused_total, 1);
    EXPECT_EQ(must(first.get("/")).status, 200);

    // A freed place is served, though the refused connection still lingers.
    EXPECT_EQ(*must(second.request("GET", "/", {{"connection", "close"}}, "")).header("connection"),
              "close");
    HttpClient fourth = server.client();
    EXPECT_EQ(must(fourth.get("/")).status, 200);
}

TEST(HttpServerBounds, RefusalsAreBoundedToo) {
    HttpServerOptions options = local_options();
    options.connections_max = 0;
    TestServer server(answer_path, options);
    std::vector<HttpClient> refused;
    for (int i = 0; i < 64; ++i) {
        refused.push_back(server.client());
        EXPECT_EQ(must(refused.back().read_head()).status, 503);
    }
    HttpClient silent = server.client();
    EXPECT_EQ(silent.read_to_end().value_or(""), "");
    EXPECT_EQ(server.server().counters().connections_refused_total, 65);
    EXPECT_LE(server.server().counters().connections_open, 64);
}

TEST(HttpServerBounds, ThousandsOfIdleConnectionsAreCheap) {
    constexpr int kNumIdle = 2000;
    ASSERT_GE(raise_fd_limit(), 2 * kNumIdle + 100);
    TestServer server(answer_path);
    const int64_t resident_before = read_process_info().resident_bytes;
    std::vector<HttpClient> idle;
    for (int i = 0; i < kNumIdle; ++i) {
        idle.push_back(server.client());
        if (i % 2 == 0) {
            ASSERT_EQ(must(idle.back().get("/x")).body, "/x");
        }
    }
    HttpClient busy = server.client();
    EXPECT_EQ(must(busy.get("/y")).body, "/y");
    EXPECT_EQ(server.server().counters().connections_open, kNumIdle + 1);
    // Both sides of each connection; sanitizers multiply it, so the bound is wide.
    const int64_t per_connection =
        (read_process_info().resident_bytes - resident_before) / kNumIdle;
    RecordProperty("bytes_per_connection", static_cast<int>(per_connection));
    std::printf("%ld bytes for both sides of an idle connection\n",
                static_cast<long>(per_connection));
    EXPECT_LT(per_connection, 32'768);
    for (HttpClient& client : idle) ASSERT_EQ(must(client.get("/z")).body, "/z");
}

}  // namespace weir
