#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "engine/engine_core.h"
#include "sched/request.h"

namespace weir {

/// Bounds of what may wait; over them submit() refuses with kQueueFull (reference 1.11,
/// design 2.2).
struct QueueLimits {
    int64_t max_num_queued_reqs = 8192;
    int64_t max_num_queued_tokens =
        0;  // Prompt tokens without a first token; 0: derived from memory.
};

/// Facts that metrics need and the core does not know.
struct RequestFacts {
    int64_t arrival_us = 0;  // Monotonic clock of os/clock.h when rendering began.
    int32_t n = 1;           // Of the API request it belongs to.
    int32_t max_tokens = 0;  // Effective.
    bool last_child = true;  // Whole-request histograms are observed at this child's finish.
};

/// The front end's door to the engine thread. Any thread may call it, except where said.
class EngineClient {
 public:
    using OutputHandler = std::function<void(const RequestOutput&)>;
    virtual ~EngineClient() = default;

    /// A fresh id.
    virtual RequestId next_id() = 0;
    /// Cheap early check before a prompt is rendered: would `num_requests` more be refused?
    virtual Result<void> check_admission(int64_t num_requests) = 0;
    /// Hands the requests over together, or none of them (kQueueFull, kUnavailable). `handler` is
    /// called on the IO thread, by deliver(), for each output of each of them in order, until its
    /// finish; never after abort() from the IO thread.
    virtual Result<void> submit(std::vector<NewRequest> requests, const RequestFacts& facts,
                                OutputHandler handler) = 0;
    /// Stops a request (client gone, stop string found). Its handler is not called again. Unknown
    /// ids are ignored. `stopped_by_string`: counts as a normal finish "stop" in the metrics; else
    /// counted as an abort. IO thread only.
    virtual void abort(RequestId id, bool stopped_by_string) = 0;
    /// IO thread: hands all outputs that came since the last call to their handlers.
    virtual void deliver() = 0;

    virtual int64_t num_unfinished() const = 0;  // Waiting and running, of all requests.
    /// False when the engine thread has died or its heartbeat is stale while it has work.
    virtual bool healthy() const = 0;
    virtual std::string fatal_error() const = 0;

    // Dev routes (reference 5.13); block until the engine thread has done it.
    virtual bool reset_prefix_cache(bool reset_running_requests) = 0;
    virtual void set_pause(PauseState state) = 0;
    virtual PauseState pause() const = 0;
    virtual int64_t abort_requests(const std::vector<RequestId>& ids) = 0;  // Empty: all.
};

}  // namespace weir
