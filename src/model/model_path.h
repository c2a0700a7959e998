#pragma once

#include <string>

#include "base/result.h"

namespace weir {

/// Turns MODEL of the command line into the path of a .gguf file: the file itself, the only .gguf
/// of a folder, or the first part of the only split model in it (mmproj-*.gguf, the vision parts
/// beside a model, do not count). Fails with kFileNotFound, saying what was found and what to give.
Result<std::string> resolve_model_path(const std::string& model);

}  // namespace weir
