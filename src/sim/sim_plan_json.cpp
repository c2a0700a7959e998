#include <array>
#include <string_view>

#include "base/text.h"
#include "sim/sim_plan.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 9> kFaultNames = {
    "slow",        "pause_new",   "pause_all", "resume",        "reset_cache",
    "reset_running", "abort_storm", "abort_all", "executor_fails"};

/// Visits every field with its name: writing and reading share one list.
template <typename Plan, typename Visitor>
void visit_flags(Plan& plan, Visitor visit) {
    auto& s = plan.scheduler;
    visit("max_num_batched_tokens", s.max_num_batched_tokens);
    visit("max_num_scheduled_tokens", s.max_num_scheduled_tokens);
    visit("max_num_seqs", s.max_num_seqs);
    visit("max_num_active_seqs", s.max_num_active_seqs);
    visit("max_model_len", s.max_model_len);
    visit("enable_chunked_prefill", s.enable_chunked_prefill);
    visit("long_prefill_token_threshold", s.long_prefill_token_threshold);
    visit("long_prefill_token_threshold_adaptive", s.long_prefill_token_threshold_adaptive);
    visit("scheduling_policy", s.scheduling_policy);
    visit("scheduler_reserve_full_isl", s.scheduler_reserve_full_isl);
    visit("watermark", s.watermark);
    visit("block_size", plan.cache.block_size);
    visit("num_gpu_blocks", plan.cache.num_gpu_blocks);
    visit("enable_prefix_caching", plan.cache.enable_prefix_caching);
    visit("prefix_caching_hash_algo", plan.cache.prefix_caching_hash_algo);
    visit("num_fault_steps", plan.num_fault_steps);
}

template <typename Request, typename Visitor>
void visit_request(Request& request, Visitor visit) {
    visit("id", request.id);
    visit("at_step", request.at_step);
    visit("num_prompt_tokens", request.num_prompt_tokens);
    visit("prefix_group", request.prefix_group);
    visit("num_prefix_tokens", request.num_prefix_tokens);
    visit("prompt_seed", request.prompt_seed);
    visit("seed", request.seed);
    visit("salt", request.salt);
    visit("priority", request.priority);
    visit("max_tokens", request.max_tokens);
    visit("min_tokens", request.min_tokens);
    visit("ignore_eos", request.ignore_eos);
    visit("prompt_logprobs", request.prompt_logprobs);
    visit("abort_at_step", request.abort_at_step);
}

struct Writer {
    Json& object;
    void operator()(std::string_view name, int32_t value) const { object.set(name, value); }
    void operator()(std::string_view name, bool value) const { object.set(name, value); }
    void operator()(std::string_view name, double value) const { object.set(name, value); }
    void operator()(std::string_view name, const std::string& value) const {
        object.set(name, value);
    }
    void operator()(std::string_view name, uint64_t value) const {
        object.set(name, static_cast<int64_t>(value));
    }
    void operator()(std::string_view name, SchedulingPolicy value) const {
        object.set(name, value == SchedulingPolicy::kFcfs ? "fcfs" : "priority");
    }
};

/// Absent fields keep their defaults; a field of a wrong type is noted.
struct Reader {
    const Json& object;
    std::string& wrong;

    const Json* get(std::string_view name, bool (Json::*is_right)() const) const {
        const Json* value = object.find(name);
        if (value == nullptr || (value->*is_right)()) return value;
        wrong = concat("field ", name, " has a wrong type");
        return nullptr;
    }
    void operator()(std::string_view name, int32_t& field) const {
        if (const Json* value = get(name, &Json::is_int)) {
            field = static_cast<int32_t>(value->as_int());
        }
    }
    void operator()(std::string_view name, uint64_t& field) const {
        if (const Json* value = get(name, &Json::is_int)) {
            field = static_cast<uint64_t>(value->as_int());
        }
    }
    void operator()(std::string_view name, bool& field) const {
        if (const Json* value = get(name, &Json::is_bool)) field = value->as_bool();
    }
    void operator()(std::string_view name, double& field) const {
        if (const Json* value = get(name, &Json::is_number)) field = value->as_double();
    }
    void operator()(std::string_view name, std::string& field) const {
        if (const Json* value = get(name, &Json::is_string)) field = value->as_string();
    }
    void operator()(std::string_view name, SchedulingPolicy& field) const {
        if (const Json* value = get(name, &Json::is_string)) {
            field = value->as_string() == "priority" ? SchedulingPolicy::kPriority
                                                     : SchedulingPolicy::kFcfs;
        }
    }
};

}  // namespace

Json plan_to_json(const SimPlan& plan) {
    Json json = Json::object();
    Writer{json}("seed", plan.seed);
    Json flags = Json::object();
    visit_flags(plan, Writer{flags});
    json.set("flags", std::move(flags));
    Json requests = Json::array();
    for (const SimRequest& request : plan.requests) {
        Json item = Json::object();
        visit_request(request, Writer{item});
        requests.push_back(std::move(item));
    }
    json.set("requests", std::move(requests));
    Json faults = Json::array();
    for (const SimFault& fault : plan.faults) {
        faults.push_back(Json::object({{"kind", kFaultNames[static_cast<size_t>(fault.kind)]},
                                       {"at_step", fault.at_step},
                                       {"value", fault.value}}));
    }
    json.set("faults", std::move(faults));
    return json;
}

Result<SimPlan> plan_from_json(const Json& json) {
    SimPlan plan;
    std::string wrong;
    Reader{json, wrong}("seed", plan.seed);
    if (!json["flags"].is_object()) return fail(ErrorCode::kBadSchema, "a plan needs flags");
    visit_flags(plan, Reader{json["flags"], wrong});
    if (!json["requests"].is_array() || !json["faults"].is_array()) {
        return fail(ErrorCode::kBadSchema, "a plan needs requests and faults, as lists");
    }
    for (const Json& item : json["requests"].items()) {
        visit_request(plan.requests.emplace_back(), Reader{item, wrong});
    }
    for (const Json& item : json["faults"].items()) {
        SimFault& fault = plan.faults.emplace_back();
        std::string kind;
        const Reader reader{item, wrong};
        reader("kind", kind);
        reader("at_step", fault.at_step);
        if (const Json* value = reader.get("value", &Json::is_int)) fault.value = value->as_int();
        size_t index = 0;
        while (index < kFaultNames.size() && kFaultNames[index] != kind) ++index;
        if (index == kFaultNames.size()) wrong = concat("no fault is called '", kind, "'");
        fault.kind = static_cast<SimFault::Kind>(index);
    }
    if (!wrong.empty()) return fail(ErrorCode::kBadSchema, wrong);
    return plan;
}

}  // namespace weir
