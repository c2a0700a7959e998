#pragma once

#include <cstdint>
#include <string>

#include "engine/engine_observer.h"
#include "metrics/registry.h"

namespace weir {

/// Counts what the engine does into the catalogue, at vLLM's moments (reference 3.1, 3.2). Any
/// thread, as EngineObserver says. `metrics` outlives it.
class EngineMetrics final : public EngineObserver {
 public:
    explicit EngineMetrics(Metrics& metrics);

    void on_step(const StepStats& stats, int64_t duration_us) override;
    void on_token(const RequestProgress& request, int64_t gap_us, int64_t now_us) override;
    void on_iteration(int64_t tokens) override;
    void on_finish(const RequestProgress& request, FinishReason reason, int64_t now_us) override;
    void on_abort(const RequestProgress& request, AbortCause cause, int64_t now_us) override;
    void on_rejected(RejectReason reason) override;

 private:
    MetricValues& values_;
};

/// The periodic line of vLLM (reference 4.5): rates since the last call.
class StatsLine {
 public:
    struct Line {
        std::string text;
        bool quiet = false;  // Nothing happened in this and the last interval: debug, not info.
    };
    Line next(const MetricValues& values, double seconds);

 private:
    double prompt_tokens_ = 0, generated_tokens_ = 0;
    bool was_quiet_ = false;
};

}  // namespace weir
