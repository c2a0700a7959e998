#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tokenizer/jinja_text.h"

namespace weir::jinja {

/// What one rendering may use. Each refusal names its limit.
struct Limits {
    // One node evaluated, or some bytes or items moved: 1 to 10 s on one core for what was found
    // slowest, within vLLM's 30 s on a loaded machine.
    int64_t steps_max = 30'000'000;
    size_t live_bytes_max = size_t{256} << 20;  // Held by values at one time.
    int eval_depth_max = 2000;                  // Nested nodes, through macros as well.
    int macro_depth_max = 200;  // About what Python's recursion limit leaves jinja2.
};
constexpr int kValueDepthMax = 200;  // Lists in lists; JSON from outside has less.

/// Counts steps and live memory of one rendering. Work that is not a node reports itself by
/// spend(); the next node then fails if the budget is gone, so a single operation may overshoot a
/// little, by no more than one text (kTextBytesMax) or one list that is already held.
class Meter {
 public:
    explicit Meter(const Limits& limits) : limits_(limits) {}
    void spend(int64_t steps) { steps_ += steps; }
    /// Moving bytes is cheaper than evaluating nodes.
    void spend_bytes(size_t bytes) { steps_ += static_cast<int64_t>(bytes / 128); }
    void hold(size_t bytes) { live_bytes_ += bytes; }
    void release(size_t bytes) { live_bytes_ -= bytes; }
    bool exhausted() const {
        return steps_ > limits_.steps_max || live_bytes_ > limits_.live_bytes_max;
    }
    /// Fails when a budget is gone.
    Result<void> check() const;
    const Limits& limits() const { return limits_; }

 private:
    Limits limits_;
    int64_t steps_ = 0;
    size_t live_bytes_ = 0;
};

/// What a heap value holds, reported to the meter for as long as it lives. Constants of a template
/// have none.
class Held {
 public:
    Held() = default;
    Held(Meter* meter, size_t bytes) : meter_(meter), bytes_(bytes) {
        if (meter_) meter_->hold(bytes_);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
        if (meter_) meter_->release(bytes_);
    }

 private:
    Meter* meter_ = nullptr;
    size_t bytes_ = 0;
};

struct List;
struct Dict;
struct Object;
struct HeldText {
    HeldText(Text value, Meter* meter)
        : text(std::move(value)), held(meter, sizeof(HeldText) + text.memory_bytes()) {}
    Text text;
    Held held;
};
using TextPtr = std::shared_ptr<const HeldText>;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
using ObjectPtr = std::shared_ptr<Object>;
struct Undefined {
    std::shared_ptr<const std::string> message;  // What using it says.
};
struct None {};
// Python's integers have no bound. 128 bits print every literal seen in the field; more is refused.
__extension__ typedef __int128 Int;

/// A Python-like value. All but namespaces, loops and iterators are immutable, as the sandbox
/// demands, so copies share. Numbers carry their origin as well: untrusted() of a number taken from
/// a message.
class Value {
 public:
    enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kText, kList, kDict, kObject };

    Value() : data_(None{}) {}
    Value(Undefined undefined) : data_(std::move(undefined)) {}
    Value(TextPtr text) : data_(std::move(text)) {}
    Value(ListPtr list) : data_(std::move(list)) {}
    Value(DictPtr dict) : data_(std::move(dict)) {}
    Value(ObjectPtr object) : data_(std::move(object)) {}
    static Value boolean(bool value, bool untrusted = false) { return Value(value, untrusted); }
    static Value integer(Int value, bool untrusted = false) { return Value(value, untrusted); }
    static Value real(double value, bool untrusted = false) { return Value(value, untrusted); }

    Kind kind() const { return static_cast<Kind>(data_.index()); }
    bool is_undefined() const { return kind() == Kind::kUndefined; }
    bool is_none() const { return kind() == Kind::kNone; }
    bool is_bool() const { return kind() == Kind::kBool; }
    bool is_int() const { return kind() == Kind::kInt; }
    bool is_float() const { return kind() == Kind::kFloat; }
    bool is_text() const { return kind() == Kind::kText; }
    bool is_list() const { return kind() == Kind::kList; }  // Tuples and views as well.
    bool is_dict() const { return kind() == Kind::kDict; }
    bool is_object() const { return kind() == Kind::kObject; }
    bool is_integral() const { return is_bool() || is_int(); }
    bool is_number() const { return is_integral() || is_float(); }

    // CHECKs the kind (std::get would throw).
    bool as_bool() const;
    Int as_int() const;       // Booleans as well.
    double as_float() const;  // All numbers.
    const Text& text() const;
    std::string_view view() const { return text().view(); }
    const ListPtr& list() const;
    const DictPtr& dict() const;
    const ObjectPtr& object() const;
    const std::string& undefined_message() const;

    /// Something in it came from outside.
    bool untrusted() const;
    bool truthy() const;
    /// The object behind it is the same (or both are equal small values).
    bool same(const Value& other) const;

 private:
    template <typename T>
    Value(T value, bool untrusted) : data_(value), untrusted_(untrusted) {}

    std::variant<Undefined, None, bool, Int, double, TextPtr, ListPtr, DictPtr, ObjectPtr> data_;
    bool untrusted_ = false;
};

struct List {
    enum class Type { kList, kTuple, kRange, kKeys, kValues, kItems, kGroup };

    Type type = Type::kList;
    std::vector<Value> items;
    int depth = 1;
    bool untrusted = false;
    int64_t start = 0, stop = 0, step = 1;  // Of a range, for printing.
    std::unique_ptr<Held> held;

    bool is_sequence() const { return type < Type::kKeys || type == Type::kGroup; }
};

struct Dict {
    std::vector<std::pair<Value, Value>> items;  // In order of insertion; keys are distinct.
    std::unordered_map<std::string_view, size_t> index;  // Text keys, once there are many.
    int depth = 1;
    bool untrusted = false;
    std::unique_ptr<Held> held;

    const Value* find(std::string_view key) const;
    const Value* find(const Value& key, Meter& meter) const;
};

struct Object {
    enum class Type { kNamespace, kMacro, kMethod, kFunction, kLoop, kIterator, kCycler, kJoiner };

    explicit Object(Type t) : type(t) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;

    const Type type;
    int nesting = 0;  // As List::depth, of what it holds from its making on.
};

/// What map(), select() and the like give: can be walked once.
struct Iterator : Object {
    Iterator(std::string name, ListPtr list)
        : Object(Type::kIterator), type_name(std::move(name)), items(std::move(list)) {
        nesting = items->depth;
    }
    std::string type_name;
    ListPtr items;
    size_t pos = 0;
};

struct NamedValue {
    std::string name;
    Value value;
};
struct Args {
    std::vector<Value> positional;
    std::vector<NamedValue> named;

    const Value* find(std::string_view name) const;
};

/// Levels of values in values. Bounded by kValueDepthMax wherever one is made, as destructors
/// recurse.
int nesting_of(const Value& value);
/// Python's type name: "str", "NoneType", "dict".
std::string type_name(const Value& value);
/// May be a dict's key: no list, dict or view.
bool hashable(const Value& value);
bool equal(const Value& a, const Value& b, Meter& meter);
/// a < b as Python orders; fails with Python's TypeError for kinds that have no order. `op` is for
/// its text.
Result<bool> less(const Value& a, const Value& b, std::string_view op, Meter& meter);
std::string int_text(Int value);

inline tl::unexpected<Error> bad(std::string text) {
    return fail(ErrorCode::kBadTemplate, std::move(text));
}

}  // namespace weir::jinja
