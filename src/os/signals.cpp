#include "os/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "os/file.h"

namespace weir {

struct SignalWatcher::State {
    int signal_fd = -1;
    int stop_fd = -1;
    sigset_t old_mask{};
    std::function<void(int)> on_signal;
    std::thread thread;

    ~State() {
        if (signal_fd >= 0) ::close(signal_fd);
        if (stop_fd >= 0) ::close(stop_fd);
    }

    void run() {
        for (;;) {
            std::array<pollfd, 2> waited{{{signal_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}}};
            if (::poll(waited.data(), waited.size(), -1) < 0) {
                if (errno == EINTR) continue;
                return;
            }
            if (waited[1].revents != 0) return;
            signalfd_siginfo info{};
            if (::read(signal_fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
                on_signal(static_cast<int>(info.ssi_signo));
            }
        }
    }
};

SignalWatcher::SignalWatcher(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<SignalWatcher>> SignalWatcher::start(std::function<void(int)> on_signal) {
    ignore_sigpipe();
    auto state = std::make_unique<State>();
    state->on_signal = std::move(on_signal);
    sigset_t watched;
    ::sigemptyset(&watched);
    ::sigaddset(&watched, SIGTERM);
    ::sigaddset(&watched, SIGINT);
    if (const int number = ::pthread_sigmask(SIG_BLOCK, &watched, &state->old_mask)) {
        return fail(ErrorCode::kIo, system_error_text("cannot block", "SIGTERM", number));
    }
    state->signal_fd = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    state->stop_fd = ::eventfd(0, EFD_CLOEXEC);
    if (state->signal_fd < 0 || state->stop_fd < 0) {
        const int number = errno;
        ::pthread_sigmask(SIG_SETMASK, &state->old_mask, nullptr);
        return fail(ErrorCode::kIo, system_error_text("cannot watch", "signals", number));
    }
    State* shared = state.get();
    state->thread = std::thread([shared] { shared->run(); });
    return std::unique_ptr<SignalWatcher>(new SignalWatcher(std::move(state)));
}

SignalWatcher::~SignalWatcher() {
    const uint64_t one = 1;
    while (::write(state_->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    state_->thread.join();
    ::pthread_sigmask(SIG_SETMASK, &state_->old_mask, nullptr);
}

void ignore_sigpipe() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace weir
