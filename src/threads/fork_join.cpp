#include "threads/fork_join.h"

#include <emmintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "base/check.h"

namespace weir {

struct ForkJoin::Impl {
    ForkJoinOptions options;
    std::vector<std::thread> threads;

    // Written by the caller before `epoch` moves, read by workers after they saw it.
    Job job{};
    int64_t num_tasks = 0;
    bool stop = false;

    alignas(64) std::atomic<uint32_t> epoch{0};     // Counts loops; workers wait for it to move.
    alignas(64) std::atomic<uint32_t> sleepers{0};  // Workers that may be asleep in epoch.wait().
    alignas(64) std::atomic<int32_t> pending{0};    // Workers that have not finished this loop.
    std::atomic<bool> caller_sleeps{false};

    TaskRange range_of(int32_t thread) const {
        const int64_t n = options.num_threads;
        return {num_tasks * thread / n, num_tasks * (thread + 1) / n, thread};
    }
    void run_range(int32_t thread) const {
        const TaskRange range = range_of(thread);
        if (range.begin < range.end) job.call(job.context, range);
    }
};

namespace {

void pin_this_thread(int32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    // A refusal (CPU not in the cpuset any more) only costs speed.
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

ForkJoin::ForkJoin(const ForkJoinOptions& options) : impl_(std::make_unique<Impl>()) {
    CHECK(options.num_threads >= 1);
    impl_->options = options;
    for (int32_t thread = 1; thread < options.num_threads; ++thread) {
        impl_->threads.emplace_back([impl = impl_.get(), thread] { worker(*impl, thread); });
        const std::string name = "weir-cpu-" + std::to_string(thread);
        pthread_setname_np(impl_->threads.back().native_handle(), name.substr(0, 15).c_str());
    }
}

ForkJoin::~ForkJoin() {
    impl_->stop = true;
    impl_->epoch.fetch_add(1);
    impl_->epoch.notify_all();
    for (std::thread& thread : impl_->threads) thread.join();
}

int32_t ForkJoin::num_threads() const { return impl_->options.num_threads; }

void ForkJoin::worker(Impl& impl, int32_t thread) {
    const auto& cpus = impl.options.cpus;
    if (!cpus.empty()) pin_this_thread(cpus[static_cast<size_t>(thread) % cpus.size()]);
    uint32_t seen = 0;
    while (true) {
        int32_t spins = impl.options.spins;
        while (impl.epoch.load(std::memory_order_acquire) == seen) {
            if (spins-- > 0) {
                _mm_pause();
                continue;
            }
            // The caller moves epoch first and looks for sleepers second, we do the reverse: one sees the other.
            impl.sleepers.fetch_add(1);
            impl.epoch.wait(seen);
            impl.sleepers.fetch_sub(1);
        }
        ++seen;
        if (impl.stop) return;
        impl.run_range(thread);
        if (impl.pending.fetch_sub(1) == 1 && impl.caller_sleeps.load()) {
            impl.pending.notify_one();
        }
    }
}

void ForkJoin::run_erased(int64_t num_tasks, const Job& job) {
    Impl& impl = *impl_;
    if (num_tasks <= 0) return;
    if (impl.threads.empty() || num_tasks == 1) {
        job.call(job.context, TaskRange{0, num_tasks, 0});
        return;
    }
    impl.job = job;
    impl.num_tasks = num_tasks;
    impl.pending.store(static_cast<int32_t>(impl.threads.size()));
    impl.epoch.fetch_add(1);
    if (impl.sleepers.load() != 0) impl.epoch.notify_all();
    impl.run_range(0);

    int32_t spins = impl.options.spins;
    while (impl.pending.load(std::memory_order_acquire) != 0 && spins-- > 0) _mm_pause();
    // Same pattern: announce, look again, sleep.
    impl.caller_sleeps.store(true);
    for (int32_t left = impl.pending.load(); left != 0; left = impl.pending.load()) {
        impl.pending.wait(left);
    }
    impl.caller_sleeps.store(false);
}

}  // namespace weir
