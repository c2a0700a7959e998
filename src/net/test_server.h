#pragma once

// For tests and benchmarks of net: a server on a free port with its IO thread.

#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace weir {

inline HttpServerOptions local_options() {
    HttpServerOptions options;
    options.host = "127.0.0.1";
    options.port = 0;
    return options;
}

class TestServer {
 public:
    using Setup = std::function<void(HttpServer&)>;

    explicit TestServer(HttpServer::Handler handler, HttpServerOptions options = local_options(),
                        const Setup& setup = {})
        : options_(options) {
        auto created = HttpServer::create(options);
        CHECK(created.has_value());
        server_ = std::move(*created);
        if (setup) setup(*server_);
        CHECK(server_->bind().has_value());
        CHECK(server_->listen(std::move(handler)).has_value());
        thread_ = std::thread([this] { server_->run(); });
    }
    ~TestServer() { stop(); }

    void stop() {
        if (!thread_.joinable()) return;
        server_->stop();
        thread_.join();
    }

    HttpServer& server() { return *server_; }
    HttpClientOptions client_options() const {
        HttpClientOptions options;
        options.port = server_->port();
        options.uds = options_.uds;
        options.tls = !options_.ssl_certfile.empty();
        options.tls_verify = false;
        return options;
    }
    HttpClient client() const {
        auto client = HttpClient::connect(client_options());
        CHECK(client.has_value());
        return std::move(*client);
    }
    /// Runs on the IO thread and waits.
    void on_io(const std::function<void()>& work) {
        std::promise<void> done;
        server_->post([&] {
            work();
            done.set_value();
        });
        done.get_future().wait();
    }

 private:
    HttpServerOptions options_;
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
};

/// A number that other threads raise and a test waits for.
class TestCounter {
 public:
    void add() {
        const std::lock_guard lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    /// The long limit only ends a test that would hang.
    bool wait_for(int count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return count_ >= count; });
    }
    int count() {
        const std::lock_guard lock(mutex_);
        return count_;
    }

 private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

/// Keeps requests open; a test answers them later, on the IO thread.
struct Held {
    std::vector<std::shared_ptr<HttpResponder>> responders;
    TestCounter arrived;
    TestCounter closed;

    HttpServer::Handler handler(bool stream = false) {
        return [this, stream](HttpRequest&&, const std::shared_ptr<HttpResponder>& responder) {
            responder->on_close([this] { closed.add(); });
            if (stream) responder->begin_stream(200, {});
            responders.push_back(responder);
            arrived.add();
        };
    }
};

}  // namespace weir
