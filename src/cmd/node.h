#pragma once

#include "base/result.h"
#include "config/serve_config.h"
#include "os/log.h"

namespace weir {

/// Builds the node that `weir serve` runs, serves until a signal or the engine's death, and takes
/// it down again. Gives the process' exit code: 0 after a signal, 3 if the engine failed. Fails
/// before anything is served: file, memory, address, values that do not fit together.
Result<int> run_node(const LoadedConfig& loaded, Logger& log);

}  // namespace weir
