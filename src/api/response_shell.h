#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "api/api_server.h"
#include "net/http_server.h"

namespace weir {

/// A responder around the server's: adds headers that every answer carries (CORS, X-Request-Id),
/// observes the answer for the http_* metrics, and listens for the hang-up from the first moment
/// on, whenever the route gets to set its own callback.
class ResponseShell final : public HttpResponder,
                            public std::enable_shared_from_this<ResponseShell> {
 public:
    struct Facts {
        HttpHeaders headers;          // To be added.
        HttpObservation observation;  // handler, method, counted, request_bytes.
        int64_t begin_us = 0;
        std::function<void(const HttpObservation&)> observe;  // May be empty.
    };

    ResponseShell(std::shared_ptr<HttpResponder> inner, Facts facts)
        : inner_(std::move(inner)), facts_(std::move(facts)) {}

    /// Once, behind the constructor.
    void listen();

    void send(HttpResponse response) override;
    void begin_stream(int status, HttpHeaders headers) override;
    void write(std::string_view chunk) override { inner_->write(chunk); }
    void end_stream() override;
    void on_close(std::function<void()> callback) override { callback_ = std::move(callback); }
    bool closed() const override { return inner_->closed(); }

 private:
    void observe(int64_t response_bytes);

    std::shared_ptr<HttpResponder> inner_;
    Facts facts_;
    std::function<void()> callback_;
};

}  // namespace weir
