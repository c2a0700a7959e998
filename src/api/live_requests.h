#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/types.h"

namespace weir {

/// Engine ids of the API requests in flight, by the id in their answers ("cmpl-..."), for
/// /abort_requests. IO thread. Bounded by the engine's queue. A name in use twice keeps both.
class LiveRequests {
 public:
    void add(const std::string& name, RequestId id) { ids_.emplace(name, id); }
    void remove(const std::string& name, RequestId id) {
        const auto [begin, end] = ids_.equal_range(name);
        for (auto it = begin; it != end; ++it) {
            if (it->second != id) continue;
            ids_.erase(it);
            return;
        }
    }
    void append_ids(const std::string& name, std::vector<RequestId>& out) const {
        const auto [begin, end] = ids_.equal_range(name);
        for (auto it = begin; it != end; ++it) out.push_back(it->second);
    }

 private:
    std::unordered_multimap<std::string, RequestId> ids_;
};

}  // namespace weir
