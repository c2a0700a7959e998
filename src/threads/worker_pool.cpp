#include "threads/worker_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weir {

struct WorkerPool::State {
    explicit State(int64_t max) : queue_max(max) {}

    void run() {
        std::unique_lock lock(mutex);
        while (true) {
            filled.wait(lock, [&] { return stopping || !queue.empty(); });
            if (queue.empty()) return;
            std::function<void()> work = std::move(queue.front());
            queue.pop_front();
            lock.unlock();
            work();
            work = nullptr;  // Destroyed outside the lock.
            lock.lock();
        }
    }

    const int64_t queue_max;
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::function<void()>> queue;
    bool stopping = false;
    std::vector<std::thread> threads;
};

WorkerPool::WorkerPool(int32_t num_threads, int64_t queue_max)
    : state_(std::make_unique<State>(queue_max)) {
    for (int32_t i = 0; i < num_threads; ++i) {
        state_->threads.emplace_back([state = state_.get()] { state->run(); });
    }
}

WorkerPool::~WorkerPool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
    }
    state_->filled.notify_all();
    for (std::thread& thread : state_->threads) thread.join();
}

bool WorkerPool::submit(std::function<void()> work) {
    {
        const std::lock_guard lock(state_->mutex);
        if (static_cast<int64_t>(state_->queue.size()) >= state_->queue_max) return false;
        state_->queue.push_back(std::move(work));
    }
    state_->filled.notify_one();
    return true;
}

}  // namespace weir
