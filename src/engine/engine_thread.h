#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/engine_config.h"
#include "engine/engine_client.h"
#include "engine/engine_observer.h"
#include "exec/executor.h"

namespace weir {

struct EngineThreadOptions {
    SchedulerConfig scheduler;
    CacheConfig cache;
    uint64_t seed = 0;
    QueueLimits limits;
    EngineObserver* observer = nullptr;  // Outlives the thread; null: nobody is told.
    /// Called by the engine thread when outputs wait for deliver(); at most once until deliver()
    /// runs. Posts to the IO thread.
    std::function<void()> wake;
    /// Called once by the engine thread when it has died; the text says why.
    std::function<void(const std::string&)> on_fatal;
    /// A step that takes longer means that the engine hangs: healthy() is false then.
    int64_t heartbeat_us_max = 60'000'000;
};

/// The one thread that owns EngineCore and the KV state: takes requests from an inbox, steps, and
/// hands outputs to the IO thread. Sleeps while there is nothing to do. The inbox is bounded by
/// QueueLimits; what waits for delivery is bounded by the unfinished requests' max_tokens.
class EngineThread : public EngineClient {
 public:
    /// Starts the thread. `executor` outlives it and is only used by it.
    static std::unique_ptr<EngineThread> start(EngineThreadOptions options, Executor& executor);

    /// No new requests from now on (kUnavailable).
    virtual void refuse_new() = 0;
    /// Ends all requests with FinishReason::kAbort; their outputs are delivered. Counted as
    /// AbortCause::kShutdown. IO thread only.
    virtual void abort_rest() = 0;
    /// Stops and joins the thread; what was not delivered is dropped.
    virtual void stop() = 0;
    /// Microseconds since the engine thread last began or ended a step; 0 while it has no work.
    virtual int64_t heartbeat_age_us() const = 0;
    /// Outputs that wait for deliver().
    virtual int64_t outbox_size() const = 0;
};

}  // namespace weir
