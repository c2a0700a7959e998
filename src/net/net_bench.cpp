// Server and client share the machine: with one core for both (taskset -c 0) the numbers are those
// of one core.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/text.h"
#include "net/request_parser.h"
#include "net/test_server.h"

namespace weir {

namespace {

const std::string kRequest =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:8000\r\nAccept: */*\r\n"
    "User-Agent: OpenAI/Python 1.99.0\r\nX-Stainless-Lang: python\r\nX-Stainless-Os: Linux\r\n"
    "Authorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: 72\r\n\r\n"
    R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":2})";

// As large as one token's frame of a chat stream.
const std::string kFrame =
    R"(data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk",)"
    R"("created":1700000000,"model":"smollm2","choices":[{"index":0,"delta":{"content":" word"},)"
    R"("logprobs":null,"finish_reason":null,"token_ids":null}]})"
    "\n\n";

void parse_requests(benchmark::State& state) {
    RequestParser parser(
        {.header_bytes_max = 4 << 20, .header_count_max = 256, .body_bytes_max = 1 << 20});
    for (auto _ : state) {
        const size_t used = parser.feed(kRequest);
        parser.read_body();
        parser.feed(std::string_view(kRequest).substr(used));
        benchmark::DoNotOptimize(parser.take_request());
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(parse_requests);

void answer_requests(benchmark::State& state) {
    TestServer server([](HttpRequest&& request, const std::shared_ptr<HttpResponder>& responder) {
        responder->send({200, {{"content-type", "application/json"}}, std::move(request.body)});
    });
    std::vector<HttpClient> clients;
    for (int i = 0; i < state.range(0); ++i) clients.push_back(server.client());
    for (auto _ : state) {
        for (HttpClient& client : clients) CHECK(client.send_raw(kRequest).has_value());
        for (HttpClient& client : clients) CHECK(client.read_reply().has_value());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(answer_requests)->Arg(1)->Arg(64)->UseRealTime();

/// What an engine does: each step writes one frame to every stream, `steps` steps in one turn.
void write_streams(benchmark::State& state) {
    const auto num_streams = static_cast<size_t>(state.range(0));
    const int64_t num_steps = state.range(1);
    std::vector<std::shared_ptr<HttpResponder>> streams;
    TestCounter arrived;
    TestServer server([&](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
        responder->begin_stream(200, {{"content-type", "text/event-stream"}});
        streams.push_back(responder);
        arrived.add();
    });
    std::vector<HttpClient> clients;
    for (size_t i = 0; i < num_streams; ++i) {
        clients.push_back(server.client());
        CHECK(clients.back().open("GET", "/", {}, "").has_value());
    }
    CHECK(arrived.wait_for(static_cast<int>(num_streams)));
    // A reader that costs little: it drains what is there.
    const size_t frame_bytes = concat("xx", "\r\n", kFrame, "\r\n").size();
    for (auto _ : state) {
        server.on_io([&] {
            for (int64_t step = 0; step < num_steps; ++step) {
                for (const auto& stream : streams) stream->write(kFrame);
            }
        });
        server.on_io([] {});  // Behind the flush.
        state.PauseTiming();
        for (HttpClient& client : clients) {
            for (size_t got = 0; got < kFrame.size() * static_cast<size_t>(num_steps);) {
                got += (*client.read_part())->size();
            }
        }
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * num_steps);
    state.SetBytesProcessed(state.iterations() * state.range(0) * num_steps *
                            static_cast<int64_t>(frame_bytes));
    server.on_io([&] { streams.clear(); });
}
BENCHMARK(write_streams)->Args({256, 1})->Args({256, 4})->Args({16, 16})->UseRealTime();

}  // namespace

}  // namespace weir
