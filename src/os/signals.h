#pragma once

#include <functional>
#include <memory>

#include "base/result.h"

namespace weir {

/// Delivers SIGTERM and SIGINT as calls of `on_signal` on one thread of its own (no handler runs
/// inside another thread's call), and ignores SIGPIPE. Make it in main before any other thread:
/// threads inherit the blocked mask. The destructor stops the thread and restores the mask of the
/// thread that calls it.
class SignalWatcher {
   public:
    /// `on_signal(number)` may run again while the first is still being handled elsewhere; it must
    /// not block for long and must not destroy the watcher.
    static Result<std::unique_ptr<SignalWatcher>> start(std::function<void(int)> on_signal);
    ~SignalWatcher();
    SignalWatcher(const SignalWatcher&) = delete;
    SignalWatcher& operator=(const SignalWatcher&) = delete;

   private:
    struct State;
    explicit SignalWatcher(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// A write to a closed socket or pipe then fails with EPIPE instead of ending the process.
void ignore_sigpipe();

}  // namespace weir
