#pragma once

#include <memory>

#include "api/context.h"

namespace weir {

/// POST /v1/completions and /v1/chat/completions: parsing and tokenising on the front-end pool, the
/// rest on the IO thread.
void handle_completions(const std::shared_ptr<ApiContext>& context, Exchange exchange);
void handle_chat(const std::shared_ptr<ApiContext>& context, Exchange exchange);

/// Runs `work(request)` on the front-end pool and sends the answer it returns; 503 if the pool's
/// queue is full.
void answer_offloaded(const std::shared_ptr<ApiContext>& context, Exchange exchange,
                      HttpResponse (*work)(const HttpRequest&, const ApiContext&));

}  // namespace weir
