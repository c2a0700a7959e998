#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "threads/fork_join.h"
#include "threads/worker_pool.h"

namespace weir {

TEST(ForkJoin, RunsEachTaskOnce) {
    for (const int32_t threads : {1, 2, 3}) {
        ForkJoin pool({.num_threads = threads, .cpus = {}});
        for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
            pool.run(tasks, [&](const TaskRange& range) {
                EXPECT_LT(range.thread, threads);
                for (int64_t i = range.begin; i < range.end; ++i) seen[static_cast<size_t>(i)] += 1;
            });
            for (const std::atomic<int>& count : seen) EXPECT_EQ(count.load(), 1);
        }
    }
}

TEST(WorkerPool, RefusesWhenFullAndFinishesWhatItTook) {
    std::promise<void> gate;
    std::shared_future<void> open = gate.get_future().share();
    std::promise<void> begun;
    std::atomic<int> done{0};
    {
        WorkerPool pool(1, 2);
        ASSERT_TRUE(pool.submit([&] {
            begun.set_value();
            open.wait();
            done += 1;
        }));
        begun.get_future().wait();
        EXPECT_TRUE(pool.submit([&] { done += 1; }));
        EXPECT_TRUE(pool.submit([&] { done += 1; }));
        EXPECT_FALSE(pool.submit([&] { done += 100; }));
        gate.set_value();
    }
    EXPECT_EQ(done.load(), 3);
}

}  // namespace weir
