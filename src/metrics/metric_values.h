#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "metrics/exposition_writer.h"
#include "metrics/metric_table.h"

namespace weir {

// What a series holds. Any thread may update and read; nothing locks, nothing allocates, and a
// reader may see one update before another.

/// A counter or a gauge.
class MetricValue {
 public:
    void add(double amount) {
        double before = value_.load(std::memory_order_relaxed);
        while (!value_.compare_exchange_weak(before, before + amount, std::memory_order_relaxed)) {
        }
    }
    void set(double value) { value_.store(value, std::memory_order_relaxed); }
    void set_max(double value) {
        double before = value_.load(std::memory_order_relaxed);
        while (before < value &&
               !value_.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
        }
    }
    double value() const { return value_.load(std::memory_order_relaxed); }

 private:
    std::atomic<double> value_{0};
};

class MetricHistogram {
 public:
    /// Once, before any thread observes.
    void set_bounds(std::vector<double> bounds) {
        bounds_ = std::move(bounds);
        counts_ = std::make_unique<std::atomic<int64_t>[]>(bounds_.size() + 1);
    }
    void observe(double value, int64_t times = 1) {
        const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
        counts_[static_cast<size_t>(bound - bounds_.begin())].fetch_add(times,
                                                                        std::memory_order_relaxed);
        sum_.add(value * static_cast<double>(times));
    }
    const std::vector<double>& bounds() const { return bounds_; }
    /// Of bucket i alone, not cumulative; i == bounds().size() is +Inf.
    int64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
    double sum() const { return sum_.value(); }

 private:
    std::vector<double> bounds_;
    std::unique_ptr<std::atomic<int64_t>[]> counts_;
    MetricValue sum_;
};

/// A gauge of 1 whose labels are the news; nothing is shown before set().
class MetricInfoLabels {
 public:
    void set(std::vector<Label> labels) {
        const std::lock_guard lock(mutex_);
        labels_ = std::move(labels);
    }
    std::vector<Label> labels() const {
        const std::lock_guard lock(mutex_);
        return labels_;
    }

 private:
    mutable std::mutex mutex_;
    std::vector<Label> labels_;
};

/// The series of one metric, one for each value of its label, in the catalogue's order.
template <typename T>
class MetricSeries {
 public:
    explicit MetricSeries(size_t size) : size_(size), series_(std::make_unique<T[]>(size)) {}
    T& operator[](size_t i) { return series_[i]; }
    const T& operator[](size_t i) const { return series_[i]; }
    T* operator->() { return &series_[0]; }  // For metrics without a label.
    const T* operator->() const { return &series_[0]; }
    size_t size() const { return size_; }

 private:
    size_t size_;
    std::unique_ptr<T[]> series_;
};

template <MetricType type>
struct MetricStorage {
    using Type = MetricValue;
};
template <>
struct MetricStorage<MetricType::kHistogram> {
    using Type = MetricHistogram;
};
template <>
struct MetricStorage<MetricType::kInfo> {
    using Type = MetricInfoLabels;
};

/// A member for each row of the catalogue: `values.num_requests_running->set(3)`,
/// `values.request_success_total[0].add(1)`.
struct MetricValues {
    MetricValues();
#define WEIR_METRIC(id, name, type, ...) MetricSeries<MetricStorage<MetricType::type>::Type> id;
#include "metrics/catalogue.def"
#undef WEIR_METRIC

 private:
    char end_of_members_;  // Ends the list of initialisers that the catalogue makes.
};

}  // namespace weir
