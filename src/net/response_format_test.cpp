#include "net/response_format.h"

#include <gtest/gtest.h>

namespace weir {

TEST(ResponseFormat, DatesAreRfc9110) {
    EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(http_date(1709210096), "Thu, 29 Feb 2024 12:34:56 GMT");
}

TEST(ResponseFormat, HeadHasOwnFieldsOnceAndNoSplit) {
    ResponseHead head{.status = 404,
                      .framing = BodyFraming::kLength,
                      .content_length = 5,
                      .close = true,
                      .http10_keep_alive = true,
                      .server = "weir",
                      .date = "D"};
    std::string out;
    append_response_head(out, head,
                         {{"Content-Length", "77"},
                          {"X-A", "b"},
                          {"Server", "evil"},
                          {"X-Split", "a\r\nSet-Cookie: b"},
                          {"X\n", "c"}});
    EXPECT_EQ(out,
              "HTTP/1.1 404 Not Found\r\ndate: D\r\nserver: weir\r\nX-A: b\r\n"
              "content-length: 5\r\nconnection: close\r\n\r\n");
    out.clear();
    head.framing = BodyFraming::kChunked;
    head.close = false;
    append_response_head(out, head, {});
    EXPECT_EQ(out,
              "HTTP/1.1 404 Not Found\r\ndate: D\r\nserver: weir\r\ntransfer-encoding: chunked\r\n"
              "connection: keep-alive\r\n\r\n");
}

TEST(ResponseFormat, ChunksNeverEndTheBodyByAccident) {
    std::string out;
    append_chunk(out, "");
    EXPECT_EQ(out, "");
    append_chunk(out, std::string(26, 'x'));
    EXPECT_EQ(out, "1a\r\n" + std::string(26, 'x') + "\r\n");
    EXPECT_FALSE(status_has_body(204));
    EXPECT_FALSE(status_has_body(304));
    EXPECT_TRUE(status_has_body(200));
    EXPECT_EQ(status_text(413), "Content Too Large");
    EXPECT_EQ(status_text(599), "Unknown");
}

}  // namespace weir
