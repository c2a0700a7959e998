#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace weir {

/// A few threads that run work from one bounded queue, first in, first out. Work must not throw.
class WorkerPool {
 public:
    /// `queue_max`: work that may wait; more is refused.
    WorkerPool(int32_t num_threads, int64_t queue_max);
    /// Runs what is queued, then joins.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// False when the queue is full: nothing was taken. Any thread.
    bool submit(std::function<void()> work);

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weir
