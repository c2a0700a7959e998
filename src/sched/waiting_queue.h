#pragma once

#include <cstdint>
#include <vector>

#include "config/engine_config.h"
#include "sched/request_state.h"

namespace weir {

/// Requests without KV blocks, in the order in which they will be admitted (reference 1.3). fcfs:
/// arrival, O(1) each; priority: (priority, arrival_us, id), O(log n) each. Not bounded here: the
/// front end refuses what would wait too long. Does not own the requests.
class WaitingQueue {
 public:
    explicit WaitingQueue(SchedulingPolicy policy) : policy_(policy) {}

    int32_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    RequestState* front() const;
    void push(RequestState& request);            // A new one.
    void push_preempted(RequestState& request);  // Under fcfs to the front.
    void remove(RequestState& request);
    /// fcfs: in order. priority: in the heap's order, which is reproducible.
    template <typename Function>
    void for_each(Function function) const {
        for (RequestState* r = head_; r != nullptr; r = r->queue_next) function(*r);
        for (RequestState* r : heap_) function(*r);
    }

 private:
    void link(RequestState& request, RequestState* successor);
    void sift_up(size_t index);
    void sift_down(size_t index);
    void place(size_t index, RequestState* request);

    SchedulingPolicy policy_;
    int32_t size_ = 0;
    RequestState* head_ = nullptr;  // fcfs.
    RequestState* tail_ = nullptr;
    std::vector<RequestState*> heap_;  // priority.
};

}  // namespace weir
