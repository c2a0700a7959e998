#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace weir {

/// A YAML document as JSON values: plain scalars become null, bool, int or double by YAML 1.2's
/// core rules, quoted ones stay strings. Fails with kBadConfig: file, line, what. Bounded: 1 MiB,
/// depth 32, 100,000 nodes (aliases count each time they are used).
Result<Json> parse_yaml(const std::string& text, const std::string& name);
Result<Json> read_yaml_file(const std::string& path);

}  // namespace weir
