#include "net/request_parser.h"

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr RequestLimits kLimits{
    .header_bytes_max = 2000, .header_count_max = 8, .body_bytes_max = 1000};
using State = RequestParser::State;

/// Feeds everything in pieces of `step` bytes; the text of what came out.
std::string run(std::string_view bytes, size_t step, const RequestLimits& limits = kLimits) {
    RequestParser parser(limits);
    std::string out;
    while (true) {
        const size_t used = parser.feed(bytes.substr(0, step));
        bytes.remove_prefix(used);
        if (parser.state() == State::kHeaderDone) {
            parser.read_body();
        } else if (parser.state() == State::kDone) {
            const bool keep_alive = parser.framing().keep_alive;
            const HttpRequest request = parser.take_request();
            out += concat(request.method, "|", request.path, "|", request.query, "|");
            for (const auto& [name, value] : request.headers) out += concat(name, "=", value, ";");
            out += concat("|", request.body, keep_alive ? "|keep\n" : "|close\n");
        } else if (parser.state() == State::kFailed) {
            return out + concat(parser.error().status, " ", parser.error().text);
        } else if (bytes.empty()) {
            return out;
        }
    }
}

struct Refusal {
    const char* bytes;
    const char* want;
};

}  // namespace

TEST(RequestParser, ReadsRequestsInAnyPieces) {
    const std::string bytes =
        "\r\nGET /a%20b/?x=1&y HTTP/1.1\r\nHost: x\r\nAccept:  a/b \r\nEmpty:\r\n\r\n"
        "POST http://h:80/p?q#f HTTP/1.1\r\nhost: h:80\r\ncontent-length: 3\r\n\r\nabc"
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
        "2;ext=\"v\"\r\nde\r\n0a \r\n0123456789\r\n000\r\nTrailer: t\r\n\r\n"
        "GET http://h HTTP/1.0\r\nConnection: Keep-Alive, x\r\n\r\n"
        "OPTIONS * HTTP/1.0\r\n\r\n"
        "GET / HTTP/1.1\r\nHost:\r\nContent-Length: 1, 1\r\nConnection: close\r\n\r\nz";
    const std::string want =
        "GET|/a%20b/|x=1&y|Host=x;Accept=a/b;Empty=;||keep\n"
        "POST|/p|q|host=h:80;content-length=3;|abc|keep\n"
        "POST|/c||Host=x;Transfer-Encoding=Chunked;|de0123456789|keep\n"
        "GET|/||Connection=Keep-Alive, x;||keep\n"
        "OPTIONS|*||||close\n"
        "GET|/||Host=;Content-Length=1, 1;Connection=close;|z|close\n";
    for (size_t step = 1; step <= bytes.size(); ++step) {
        ASSERT_EQ(run(bytes, step), want) << "in pieces of " << step;
    }
}

TEST(RequestParser, RefusesWithAReason) {
    const Refusal kRefusals[] = {
        {"GET / HTTP/1.1\nHost: x\n\n", "400 a header line ends in a bare LF"},
        {"GET / HTTP/1.1\r\nHost: x\n\r\n", "400 a header line ends in a bare LF"},
        {"\x16\x03\x01", "400 the method is not a token"},
        {"GET\t/ HTTP/1.1\r\n", "400 the method is not a token"},
        {" / HTTP/1.1\r\n", "400 the method is not a token"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKL", "400 the method is not a token"},
        {"GET /\r\n\r\n", "400 the request line is not METHOD TARGET VERSION"},
        {"GET  HTTP/1.1\r\n\r\n",
         "400 the target is empty or has characters that must be percent-encoded"},
        {"GET /a b HTTP/1.1\r\n\r\n",
         "400 the target is empty or has characters that must be percent-encoded"},
        {"GET /\xc3\xa9 HTTP/1.1\r\n\r\n",
         "400 the target is empty or has characters that must be percent-encoded"},
        {"GET x HTTP/1.1\r\n\r\n", "400 the target is neither a path nor an http address"},
        {"CONNECT x:1 HTTP/1.1\r\n\r\n", "400 the target is neither a path nor an http address"},
        {"GET * HTTP/1.1\r\n\r\n", "400 the target is neither a path nor an http address"},
        {"GET / HTTP/1.1 \r\n\r\n",
         "400 the target is empty or has characters that must be percent-encoded"},
        {"GET / http/1.1\r\n\r\n", "400 the request line does not end in HTTP/1.1 or HTTP/1.0"},
        {"GET / HTTP/2.0\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here"},
        {"GET / HTTP/1.1\r\n\r\n", "400 Host is missing"},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 Host is given twice"},
        {"GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", "400 a header line is folded"},
        {"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
         "400 a header name has characters that are not allowed"},
        {"GET / HTTP/1.1\r\n: x\r\n\r\n", "400 a header name has characters that are not allowed"},
        {"GET / HTTP/1.1\r\nHost\r\n\r\n", "400 a header line has no colon"},
        {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", "400 a header value has control characters"},
        {"GET / HTTP/1.1\r\nHost: \x01\r\n\r\n", "400 a header value has control characters"},
        {"P / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
         "400 Content-Length is not a number"},
        {"P / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n",
         "400 Content-Length is not a number"},
        {"P / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n",
         "400 two Content-Length values differ"},
        {"P / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
         "413 Content-Length is larger than any limit"},
        {"P / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n",
         "413 the body is larger than the limit"},
        {"P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         "501 the only Transfer-Encoding understood is chunked"},
        {"P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
         "400 both Content-Length and Transfer-Encoding are given"},
        {"P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
         "Transfer-Encoding: chunked\r\n\r\n",
         "400 Transfer-Encoding is given twice"},
        {"P / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
         "400 HTTP/1.0 has no Transfer-Encoding"},
        {"P / HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\n\r\n",
         "417 the only Expect understood is 100-continue"},
        {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET", "400 empty lines instead of a request"},
    };
    for (const Refusal& refusal : kRefusals) {
        const std::string_view bytes = refusal.bytes;
        EXPECT_EQ(run(bytes, 1), refusal.want) << bytes;
        EXPECT_EQ(run(bytes, bytes.size()), refusal.want) << bytes;
    }
    const std::string nul = std::string("GET / HTTP/1.1\r\nHost: a") + '\0' + "b\r\n\r\n";
    EXPECT_EQ(run(nul, 7), "400 a header value has control characters");
}

TEST(RequestParser, RefusesBadChunks) {
    const std::string head = "P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const Refusal kRefusals[] = {
        {"zz\r\n", "400 a chunk size is not a number"},
        {"\r\n", "400 a chunk size is not a number"},
        {"-1\r\n", "400 a chunk size is not a number"},
        {"0x1\r\n", "400 a chunk size is not a number"},
        {"1 1\r\n", "400 a chunk size is not a number"},
        {"1;a=\x01\r\n", "400 a chunk extension has control characters"},
        {"1\nx\r\n", "400 a line within the chunked body ends in a bare LF"},
        {"1\r\nxy\r\n", "400 a chunk is longer than its size"},
        {"1\r\nx\n", "400 a chunk is longer than its size"},
        {"FFFFFFFFFFFFFFFF\r\n", "413 the body is larger than the limit"},
        {"FFFFFFFFFFFFFFFFF\r\n", "413 the body is larger than the limit"},
        {"3e9\r\n", "413 the body is larger than the limit"},
        {"0\r\nbad name: x\r\n", "400 a header name has characters that are not allowed"},
        {"0\r\n folded\r\n", "400 a header line is folded"},
    };
    for (const Refusal& refusal : kRefusals) {
        EXPECT_EQ(run(head + refusal.bytes, 1), refusal.want) << refusal.bytes;
        EXPECT_EQ(run(head + refusal.bytes, 1000), refusal.want) << refusal.bytes;
    }
    EXPECT_EQ(run(head + "1;" + std::string(5000, 'e'), 100),
              "400 a line within the chunked body is too long");
    std::string trailers = head + "0\r\n";
    for (int i = 0; i < 9; ++i) trailers += "T: x\r\n";
    EXPECT_EQ(run(trailers, 100), "431 too many trailer fields");
    EXPECT_EQ(run(head + "0\r\nT: " + std::string(3000, 'x'), 100),
              "431 a line within the chunked body is too long");
}

TEST(RequestParser, LimitsHoldExactly) {
    const auto with_fields = [](int count) {
        std::string text = "GET / HTTP/1.1\r\nHost: x\r\n";
        for (int i = 1; i < count; ++i) text += "A: b\r\n";
        return text + "\r\n";
    };
    EXPECT_TRUE(run(with_fields(8), 1).starts_with("GET|/||Host=x;"));
    EXPECT_EQ(run(with_fields(9), 1), "431 too many header fields");

    const std::string start = "GET / HTTP/1.1\r\nHost: x\r\nA: ";
    const auto with_bytes = [&](size_t total) {
        return start + std::string(total - start.size() - 4, 'v') + "\r\n\r\n";
    };
    EXPECT_TRUE(run(with_bytes(2000), 64).ends_with("|keep\n"));
    EXPECT_EQ(run(with_bytes(2001), 64), "431 the header is too large");
    EXPECT_EQ(run(with_bytes(2001), 4000), "431 the header is too large");

    const std::string post = "P / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
    EXPECT_TRUE(run(post + std::string(1000, 'b'), 17).ends_with("b|keep\n"));
    const std::string chunked = "P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string half = "1f4\r\n" + std::string(500, 'b') + "\r\n";
    EXPECT_TRUE(run(chunked + half + half + "0\r\n\r\n", 13).ends_with("b|keep\n"));
    EXPECT_EQ(run(chunked + half + half + "1\r\n", 13), "413 the body is larger than the limit");
}

TEST(RequestParser, ExpectIsReportedAndIgnoredForHttp10) {
    RequestParser parser(kLimits);
    const std::string fields = "Host: x\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n";
    parser.feed("POST / HTTP/1.1\r\n" + fields);
    ASSERT_EQ(parser.state(), State::kHeaderDone);
    EXPECT_TRUE(parser.framing().expect_continue);
    RequestParser old(kLimits);
    old.feed("POST / HTTP/1.0\r\n" + fields);
    ASSERT_EQ(old.state(), State::kHeaderDone);
    EXPECT_FALSE(old.framing().expect_continue);
}

/// Whatever the pieces, the outcome is the same, and nothing is consumed beyond a failure.
TEST(RequestParser, PiecesNeverMatter) {
    const std::string seed_text =
        "POST /v1/x?y HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
        "\r\nGET / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd";
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        for (int round = 0; round < 300; ++round) {
            std::string bytes = seed_text;
            for (int64_t i = random.below(4); i > 0; --i) {
                const auto at =
                    static_cast<size_t>(random.below(static_cast<int64_t>(bytes.size())));
                const std::string_view alphabet("\r\n :;0az\0\xff", 11);
                const auto letter = static_cast<size_t>(random.below(11));
                if (random.chance(0.5)) {
                    bytes[at] = alphabet[letter];
                } else {
                    bytes.insert(at, 1, alphabet[letter]);
                }
            }
            const std::string want = run(bytes, bytes.size());
            const auto step = static_cast<size_t>(random.between(1, 40));
            ASSERT_EQ(run(bytes, step), want) << "step " << step << "\n" << bytes;
        }
    }
}

}  // namespace weir
