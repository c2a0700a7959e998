#include "sched/waiting_queue.h"

#include <tuple>

#include "base/check.h"
#include "kv/planted_bug.h"

namespace weir {
namespace {

bool before(const RequestState& a, const RequestState& b) {
    return std::tie(a.priority, a.arrival_us, a.id) < std::tie(b.priority, b.arrival_us, b.id);
}

}  // namespace

RequestState* WaitingQueue::front() const {
    if (policy_ == SchedulingPolicy::kFcfs) return head_;
    return heap_.empty() ? nullptr : heap_.front();
}

void WaitingQueue::push(RequestState& request) {
    size_ += 1;
    if (policy_ == SchedulingPolicy::kFcfs) return link(request, nullptr);
    heap_.push_back(&request);
    place(heap_.size() - 1, &request);
    sift_up(heap_.size() - 1);
}

void WaitingQueue::push_preempted(RequestState& request) {
    if (policy_ != SchedulingPolicy::kFcfs || PLANTED(kPreemptedToBack)) return push(request);
    size_ += 1;
    link(request, head_);
}

void WaitingQueue::remove(RequestState& request) {
    size_ -= 1;
    if (policy_ == SchedulingPolicy::kFcfs) {
        (request.queue_prev ? request.queue_prev->queue_next : head_) = request.queue_next;
        (request.queue_next ? request.queue_next->queue_prev : tail_) = request.queue_prev;
        request.queue_prev = nullptr;
        request.queue_next = nullptr;
        return;
    }
    CHECK(request.heap_index >= 0);
    const size_t hole = static_cast<size_t>(request.heap_index);
    request.heap_index = -1;
    RequestState* last = heap_.back();
    heap_.pop_back();
    if (last == &request) return;
    place(hole, last);
    sift_up(hole);
    sift_down(static_cast<size_t>(last->heap_index));
}

/// Links it in front of `successor`; null: at the end.
void WaitingQueue::link(RequestState& request, RequestState* successor) {
    request.queue_next = successor;
    request.queue_prev = successor ? successor->queue_prev : tail_;
    (request.queue_prev ? request.queue_prev->queue_next : head_) = &request;
    (successor ? successor->queue_prev : tail_) = &request;
}

void WaitingQueue::place(size_t index, RequestState* request) {
    heap_[index] = request;
    request->heap_index = static_cast<int32_t>(index);
}

void WaitingQueue::sift_up(size_t index) {
    RequestState* request = heap_[index];
    while (index > 0 && before(*request, *heap_[(index - 1) / 2])) {
        place(index, heap_[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    place(index, request);
}

void WaitingQueue::sift_down(size_t index) {
    RequestState* request = heap_[index];
    for (size_t child = 2 * index + 1; child < heap_.size(); child = 2 * index + 1) {
        if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) child += 1;
        if (!before(*heap_[child], *request)) break;
        place(index, heap_[child]);
        index = child;
    }
    place(index, request);
}

}  // namespace weir
