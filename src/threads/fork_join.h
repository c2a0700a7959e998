#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

/// A part of a parallel loop: tasks [begin, end), run by thread `thread` of the pool.
struct TaskRange {
    int64_t begin = 0;
    int64_t end = 0;
    int32_t thread = 0;  // [0, num_threads): names per-thread scratch.
};

struct ForkJoinOptions {
    int32_t num_threads = 1;  // The calling thread included; at least 1.
    /// CPUs to pin the threads to, in order (thread i to cpus[i % size]); empty: no pinning. Thread 0 is the
    /// caller of run() and is never pinned here.
    std::vector<int32_t> cpus;
    /// Turns of the spin loop before a thread sleeps. A decode step has some hundred loops a few microseconds
    /// apart, for which a sleep (about 50 us to wake) is too dear.
    int32_t spins = 4000;
};

/// Threads that run loops together with the caller. Loops are cut into one contiguous range per thread, so that
/// each thread meets the same weights in every step; results must not depend on who runs what. One loop at a time,
/// from one thread; not from within a loop.
class ForkJoin {
   public:
    explicit ForkJoin(const ForkJoinOptions& options);
    ~ForkJoin();
    ForkJoin(const ForkJoin&) = delete;
    ForkJoin& operator=(const ForkJoin&) = delete;

    int32_t num_threads() const;

    /// Calls `body(TaskRange)` on each thread that gets at least one of `num_tasks` tasks; returns when all are
    /// done. Allocates nothing.
    template <typename Body>
    void run(int64_t num_tasks, Body&& body) {
        using Plain = std::remove_reference_t<Body>;
        run_erased(num_tasks, {const_cast<std::remove_const_t<Plain>*>(&body),
                               [](void* context, const TaskRange& range) {
                                   (*static_cast<Plain*>(context))(range);
                               }});
    }

   private:
    struct Job {
        void* context;
        void (*call)(void* context, const TaskRange& range);
    };
    struct Impl;
    void run_erased(int64_t num_tasks, const Job& job);
    static void worker(Impl& impl, int32_t thread);

    std::unique_ptr<Impl> impl_;
};

}  // namespace weir
