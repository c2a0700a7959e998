#include "config/yaml.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "base/units.h"

namespace weir {

namespace {

constexpr int kDepthMax = 32;
constexpr int kNodesMax = 100'000;

Json scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return Json(text);  // Quoted.
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
        return Json();
    if (text == "true" || text == "True" || text == "TRUE") return Json(true);
    if (text == "false" || text == "False" || text == "FALSE") return Json(false);
    const char* const end = text.data() + text.size();
    int64_t integer = 0;
    if (const auto [p, error] = std::from_chars(text.data(), end, integer);
        error == std::errc() && p == end) {
        return Json(integer);
    }
    double number = 0;
    const bool digit = text.find_first_of("0123456789") != std::string::npos;
    if (const auto [p, error] = std::from_chars(text.data(), end, number);
        digit && error == std::errc() && p == end) {
        return Json(number);
    }
    return Json(text);
}

Result<Json> convert(const YAML::Node& node, int depth, int& nodes) {
    if (depth > kDepthMax)
        return fail(ErrorCode::kBadConfig, concat("nested deeper than ", kDepthMax));
    if (++nodes > kNodesMax)
        return fail(ErrorCode::kBadConfig, concat("more than ", kNodesMax, " values"));
    if (node.IsSequence()) {
        Json out = Json::array();
        for (const YAML::Node& item : node) {
            TRY(Json value, convert(item, depth + 1, nodes));
            out.push_back(std::move(value));
        }
        return out;
    }
    if (node.IsMap()) {
        Json out = Json::object();
        for (const auto& member : node) {
            if (!member.first.IsScalar())
                return fail(ErrorCode::kBadConfig, "a key must be a plain text");
            TRY(Json value, convert(member.second, depth + 1, nodes));
            if (out.find(member.first.Scalar())) {
                return fail(ErrorCode::kBadConfig,
                            concat("the key '", member.first.Scalar(), "' stands twice"));
            }
            out.set(member.first.Scalar(), std::move(value));
        }
        return out;
    }
    return node.IsScalar() ? scalar(node) : Json();
}

}  // namespace

Result<Json> parse_yaml(const std::string& text, const std::string& name) {
    if (text.size() > static_cast<size_t>(kMiB)) {
        return fail(ErrorCode::kBadConfig, concat(name, ": larger than 1 MiB"));
    }
    // yaml-cpp recurses per level of flow brackets while it parses.
    int open = 0;
    for (const char c : text) {
        open += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (open > 4 * kDepthMax)
            return fail(ErrorCode::kBadConfig, concat(name, ": nested too deep"));
    }
    try {
        int nodes = 0;
        Result<Json> value = convert(YAML::Load(text), 0, nodes);
        if (!value) return fail(ErrorCode::kBadConfig, concat(name, ": ", value.error().text));
        return value;
    } catch (const YAML::Exception& error) {
        return fail(ErrorCode::kBadConfig,
                    concat(name, ": line ", error.mark.line + 1, ": ", error.msg));
    }
}

Result<Json> read_yaml_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorCode::kFileNotFound, concat("cannot open ", path));
    std::ostringstream text;
    text << file.rdbuf();
    return parse_yaml(text.str(), path);
}

}  // namespace weir
