#pragma once

#include <string>

#include "api/context.h"

namespace weir {

// Small answers that need no engine step. IO thread, except where said.
std::string models_json(const ApiOptions& options, int64_t created, const std::string& id);
/// Front-end pool.
HttpResponse answer_tokenize(const HttpRequest& request, const ApiContext& context);
HttpResponse answer_detokenize(const HttpRequest& request, const ApiContext& context);

}  // namespace weir
