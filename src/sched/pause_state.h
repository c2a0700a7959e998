#pragma once

namespace weir {

/// kPausedNew: running requests go on, nothing is admitted. kPausedAll: nothing is scheduled.
enum class PauseState { kRunning, kPausedNew, kPausedAll };

}  // namespace weir
