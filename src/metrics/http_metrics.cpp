#include "metrics/http_metrics.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "metrics/exposition_parts.h"

namespace weir {
namespace {

constexpr std::string_view kMethods[] = {"GET",  "POST",  "PUT",     "DELETE",
                                         "HEAD", "PATCH", "OPTIONS", "other"};
constexpr size_t kNumMethods = std::size(kMethods);
constexpr std::string_view kStatuses[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
constexpr size_t kNumStatuses = std::size(kStatuses);

size_t method_index(std::string_view method) {
    const auto found = std::find(std::begin(kMethods), std::end(kMethods), method);
    return std::min(static_cast<size_t>(found - std::begin(kMethods)), kNumMethods - 1);
}

size_t status_index(int status) { return static_cast<size_t>(std::clamp(status / 100, 1, 5) - 1); }

std::string_view help_of(std::string_view name) {
    for (const DynamicMetric& metric : dynamic_metrics()) {
        if (metric.name == name) return metric.help;
    }
    return "";
}

}  // namespace

struct HttpMetrics::Method {
    std::array<MetricValue, kNumStatuses> requests;
    MetricHistogram duration;

    double total() const {
        double sum = 0;
        for (const MetricValue& count : requests) sum += count.value();
        return sum;
    }
};

struct HttpMetrics::Handler {
    std::string name;
    mutable std::array<Method, kNumMethods> methods;
    mutable MetricValue request_bytes, response_bytes;

    double total() const {
        double sum = 0;
        for (const Method& method : methods) sum += method.total();
        return sum;
    }
};

HttpMetrics::HttpMetrics(std::vector<std::string> handlers) {
    handlers.insert(handlers.begin(), "none");
    for (std::string& name : handlers) {
        auto made = std::make_unique<Handler>();
        made->name = std::move(name);
        for (Method& method : made->methods) method.duration.set_bounds({0.1, 0.5, 1});
        handlers_.push_back(std::move(made));
    }
    highr_.set_bounds({0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1,  1.5, 2,
                       2.5,  3,     3.5,  4,     4.5, 5,    7.5, 10,   30, 60});
}

HttpMetrics::~HttpMetrics() = default;

const HttpMetrics::Handler& HttpMetrics::handler(std::string_view name) const {
    for (const auto& known : handlers_) {
        if (known->name == name) return *known;
    }
    return *handlers_[0];
}

void HttpMetrics::observe(const HttpMetric& request) {
    const Handler& to = handler(request.handler);
    Method& method = to.methods[method_index(request.method)];
    method.requests[status_index(request.status)].add(1);
    method.duration.observe(request.seconds);
    to.request_bytes.add(static_cast<double>(request.request_bytes.value_or(0)));
    to.response_bytes.add(static_cast<double>(request.response_bytes.value_or(0)));
    highr_.observe(request.seconds);
}

void HttpMetrics::append_exposition(std::string& out, double created_seconds) const {
    const auto family = [&](std::string_view name, MetricType type, auto&& each) {
        append_family(out, name, type, help_of(name));
        each(name, false);
        if (created_seconds == 0) return;
        const std::string created = created_name(name);
        append_family(out, created, MetricType::kGauge, help_of(name));
        each(created, true);
    };
    const auto for_each_method = [&](auto&& act) {
        for (const auto& to : handlers_) {
            for (size_t i = 0; i < kNumMethods; ++i) {
                if (to->methods[i].total() > 0) act(to->name, kMethods[i], to->methods[i]);
            }
        }
    };
    using Labels = std::vector<Label>;
    family("http_requests_total", MetricType::kCounter, [&](std::string_view name, bool created) {
        for_each_method([&](const std::string& to, std::string_view method, const Method& counts) {
            for (size_t i = 0; i < kNumStatuses; ++i) {
                const double count = counts.requests[i].value();
                if (count == 0) continue;
                const Labels labels = {{"handler", to},
                                       {"method", std::string(method)},
                                       {"status", std::string(kStatuses[i])}};
                append_sample(out, name, format_labels(labels), created ? created_seconds : count);
            }
        });
    });
    for (const bool response : {false, true}) {
        const auto* summary = response ? "http_response_size_bytes" : "http_request_size_bytes";
        family(summary, MetricType::kSummary, [&](std::string_view name, bool created) {
            for (const auto& to : handlers_) {
                const double count = to->total();
                if (count == 0) continue;
                const std::string labels = format_labels(Labels{{"handler", to->name}});
                if (created) {
                    append_sample(out, name, labels, created_seconds);
                    continue;
                }
                const MetricValue& bytes = response ? to->response_bytes : to->request_bytes;
                append_sample(out, concat(name, "_count"), labels, count);
                append_sample(out, concat(name, "_sum"), labels, bytes.value());
            }
        });
    }
    const auto histogram = [&](std::string_view name, bool created, const Labels& labels,
                               const MetricHistogram& values) {
        if (created) return append_sample(out, name, format_labels(labels), created_seconds);
        append_histogram(out, name, labels, values);
    };
    family("http_request_duration_highr_seconds", MetricType::kHistogram,
           [&](std::string_view name, bool created) { histogram(name, created, {}, highr_); });
    family("http_request_duration_seconds", MetricType::kHistogram,
           [&](std::string_view name, bool created) {
               for_each_method(
                   [&](const std::string& to, std::string_view method, const Method& values) {
                       histogram(name, created, {{"handler", to}, {"method", std::string(method)}},
                                 values.duration);
                   });
           });
}

}  // namespace weir
