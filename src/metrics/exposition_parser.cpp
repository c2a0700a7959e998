#include "metrics/exposition_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "base/text.h"

namespace weir {
namespace {

bool is_name_char(char c, bool first, bool colon) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (colon && c == ':') || (!first && c >= '0' && c <= '9');
}

bool has_labels(const ExpositionSample& sample, const std::vector<Label>& labels) {
    return std::all_of(labels.begin(), labels.end(), [&](const Label& wanted) {
        const std::string* found = sample.label(wanted.first);
        return found != nullptr && *found == wanted.second;
    });
}

/// Reads one line from its begin to its end.
class LineReader {
 public:
    LineReader(std::string_view line, size_t number, const ExpositionLimits& limits)
        : rest_(line), number_(number), limits_(limits) {}

    tl::unexpected<Error> bad(std::string_view what) const {
        return fail(ErrorCode::kBadSchema, concat("line ", number_, ": ", what));
    }
    void skip_blanks() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
    }
    bool take(char c) {
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view name(bool colon) {
        size_t size = 0;
        while (size < rest_.size() && is_name_char(rest_[size], size == 0, colon)) ++size;
        const std::string_view found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return found;
    }
    std::string_view word() {
        const size_t size = std::min(rest_.find_first_of(" \t"), rest_.size());
        const std::string_view found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return found;
    }
    std::string_view rest() const { return rest_; }
    Result<ExpositionSample> sample();

 private:
    Result<void> labels(std::vector<Label>& out);
    Result<std::string> quoted();

    std::string_view rest_;
    size_t number_;
    const ExpositionLimits& limits_;
};

std::optional<double> parse_value(std::string_view text) {
    const std::string lower = to_lower(text);
    const double inf = std::numeric_limits<double>::infinity();
    if (lower == "+inf" || lower == "inf") return inf;
    if (lower == "-inf") return -inf;
    if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
    std::string_view digits = text;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

std::string unescape_help(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const char next = i + 1 < text.size() ? text[i + 1] : '\0';
        if (text[i] == '\\' && (next == 'n' || next == '\\')) {
            out += next == 'n' ? '\n' : '\\';
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

Result<std::string> LineReader::quoted() {
    if (!take('"')) return bad("a label's value does not begin with a quote");
    std::string out;
    while (!rest_.empty()) {
        const char c = rest_[0];
        rest_.remove_prefix(1);
        if (c == '"') return out;
        if (c != '\\') {
            out += c;
            continue;
        }
        if (rest_.empty()) break;
        const char escaped = rest_[0];
        rest_.remove_prefix(1);
        if (escaped == 'n') {
            out += '\n';
        } else if (escaped == '"' || escaped == '\\') {
            out += escaped;
        } else {
            return bad(concat("unknown escape \\", escaped, " in a label's value"));
        }
    }
    return bad("a label's value does not end");
}

Result<void> LineReader::labels(std::vector<Label>& out) {
    while (true) {
        skip_blanks();
        if (take('}')) return {};
        if (out.size() >= limits_.labels_max) {
            return bad(concat("more than ", limits_.labels_max, " labels"));
        }
        const std::string_view label = name(false);
        if (label.empty()) return bad("a label has no name");
        skip_blanks();
        if (!take('=')) return bad(concat("no '=' behind label ", shorten(label, 60)));
        skip_blanks();
        TRY(std::string value, quoted());
        out.emplace_back(std::string(label), std::move(value));
        skip_blanks();
        if (take(',')) continue;
        if (take('}')) return {};
        return bad("neither ',' nor '}' behind a label");
    }
}

Result<ExpositionSample> LineReader::sample() {
    ExpositionSample sample;
    sample.name = name(true);
    if (sample.name.empty()) return bad("a sample has no name");
    skip_blanks();
    if (take('{')) {
        TRY_VOID(labels(sample.labels));
    }
    std::sort(sample.labels.begin(), sample.labels.end());
    const auto same = [](const Label& a, const Label& b) { return a.first == b.first; };
    if (std::adjacent_find(sample.labels.begin(), sample.labels.end(), same) !=
        sample.labels.end()) {
        return bad("a label is there twice");
    }
    skip_blanks();
    const std::string_view text = word();
    const std::optional<double> value = parse_value(text);
    if (!value) return bad(concat("not a number: \"", shorten(text, 60), "\""));
    sample.value = *value;
    skip_blanks();
    word();  // Time stamp.
    skip_blanks();
    if (!rest_.empty()) return bad("something stands behind the value and the time stamp");
    return sample;
}

bool belongs_to(std::string_view sample, std::string_view family) {
    if (!sample.starts_with(family)) return false;
    const std::string_view suffix = sample.substr(family.size());
    for (const char* known : {"", "_bucket", "_sum", "_count", "_total", "_created"}) {
        if (suffix == known) return true;
    }
    return false;
}

/// Finds families by name while the text goes on.
class FamilyList {
 public:
    explicit FamilyList(Exposition& exposition) : families_(exposition.families) {}

    ExpositionFamily& get(std::string_view name) {
        const auto [at, fresh] = index_.emplace(std::string(name), families_.size());
        if (fresh) {
            families_.emplace_back();
            families_.back().name = name;
        }
        last_ = at->second;
        return families_[last_];
    }
    ExpositionFamily& of_sample(std::string_view sample) {
        if (last_ < families_.size() && belongs_to(sample, families_[last_].name)) {
            return families_[last_];
        }
        return get(sample);
    }

 private:
    std::vector<ExpositionFamily>& families_;
    std::unordered_map<std::string, size_t> index_;
    size_t last_ = 0;
};

Result<void> read_comment(LineReader& line, FamilyList& families) {
    line.skip_blanks();
    const std::string_view kind = line.word();
    if (kind != "HELP" && kind != "TYPE") return {};
    line.skip_blanks();
    const std::string_view name = line.name(true);
    if (name.empty()) return line.bad(concat("# ", kind, " without a name"));
    line.skip_blanks();
    ExpositionFamily& family = families.get(name);
    if (kind == "HELP") {
        family.help = unescape_help(line.rest());
        return {};
    }
    const std::string_view type = trim(line.rest());
    for (const char* known : {"counter", "gauge", "histogram", "summary", "untyped", "unknown"}) {
        if (type != known) continue;
        family.type = type;
        return {};
    }
    return line.bad(concat("unknown type \"", shorten(type, 60), "\""));
}

}  // namespace

const std::string* ExpositionSample::label(std::string_view label_name) const {
    for (const Label& known : labels) {
        if (known.first == label_name) return &known.second;
    }
    return nullptr;
}

const ExpositionFamily* Exposition::find(std::string_view family) const {
    for (const ExpositionFamily& known : families) {
        if (known.name == family) return &known;
    }
    return nullptr;
}

std::optional<double> Exposition::value(std::string_view sample,
                                        const std::vector<Label>& labels) const {
    std::optional<double> found;
    for (const ExpositionFamily& family : families) {
        if (!belongs_to(sample, family.name)) continue;
        for (const ExpositionSample& known : family.samples) {
            if (known.name != sample || !has_labels(known, labels)) continue;
            if (found) return std::nullopt;
            found = known.value;
        }
    }
    return found;
}

std::optional<double> Exposition::sum(std::string_view sample,
                                      const std::vector<Label>& labels) const {
    std::optional<double> total;
    for (const ExpositionFamily& family : families) {
        if (!belongs_to(sample, family.name)) continue;
        for (const ExpositionSample& known : family.samples) {
            if (known.name == sample && has_labels(known, labels)) {
                total = total.value_or(0) + known.value;
            }
        }
    }
    return total;
}

Result<Exposition> parse_exposition(std::string_view text, const ExpositionLimits& limits) {
    if (text.size() > limits.bytes_max) {
        return fail(ErrorCode::kBadSchema, concat("line 0: ", text.size(), " bytes, at most ",
                                                  limits.bytes_max, " are read"));
    }
    Exposition exposition;
    FamilyList families(exposition);
    size_t number = 0;
    while (!text.empty()) {
        const size_t size = std::min(text.find('\n'), text.size());
        std::string_view content = text.substr(0, size);
        text.remove_prefix(std::min(size + 1, text.size()));
        if (content.ends_with('\r')) content.remove_suffix(1);
        LineReader line(content, ++number, limits);
        line.skip_blanks();
        if (line.rest().empty()) continue;
        if (line.take('#')) {
            TRY_VOID(read_comment(line, families));
            continue;
        }
        TRY(ExpositionSample sample, line.sample());
        families.of_sample(sample.name).samples.push_back(std::move(sample));
    }
    return exposition;
}

}  // namespace weir
