#include "api/response_shell.h"

#include <utility>

#include "os/clock.h"

namespace weir {

namespace {

void append(HttpHeaders& headers, const HttpHeaders& more) {
    headers.insert(headers.end(), more.begin(), more.end());
}

constexpr int kClientClosedRequest = 499;  // nginx's status for a hang-up before the answer.

}  // namespace

void ResponseShell::listen() {
    inner_->on_close([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        if (self->facts_.observation.status == 0) {
            self->facts_.observation.status = kClientClosedRequest;
        }
        const auto callback = std::exchange(self->callback_, nullptr);
        self->observe(0);
        if (callback) callback();
    });
}

void ResponseShell::send(HttpResponse response) {
    append(response.headers, facts_.headers);
    facts_.observation.status = response.status;
    const auto bytes = static_cast<int64_t>(response.body.size());
    inner_->send(std::move(response));
    observe(bytes);
}

void ResponseShell::begin_stream(int status, HttpHeaders headers) {
    append(headers, facts_.headers);
    facts_.observation.status = status;
    inner_->begin_stream(status, std::move(headers));
}

void ResponseShell::end_stream() {
    inner_->end_stream();
    observe(0);
}

void ResponseShell::observe(int64_t response_bytes) {
    callback_ = nullptr;
    const auto observe = std::exchange(facts_.observe, nullptr);
    if (!observe) return;
    facts_.observation.duration_us = monotonic_us() - facts_.begin_us;
    facts_.observation.response_bytes = response_bytes;
    observe(facts_.observation);
}

}  // namespace weir
