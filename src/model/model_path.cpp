#include "model/model_path.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "model/gguf_part.h"
#include "model/gguf_split.h"
#include "os/file.h"

namespace weir {

namespace {

constexpr size_t kNamesListedMax = 5;

template <typename... Pieces>
tl::unexpected<Error> not_found(const Pieces&... pieces) {
    return fail(ErrorCode::kFileNotFound, concat(pieces...));
}

std::string list_names(const std::vector<std::string>& names) {
    std::vector<std::string> shown(names.begin(),
                                   names.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(names.size(), kNamesListedMax)));
    for (std::string& name : shown) name = printable(name);
    const size_t more = names.size() - shown.size();
    return join(shown, ", ") + (more > 0 ? concat(" and ", more, " more") : "");
}

/// "org/name" and nothing of that name here: a Hugging Face id, as vLLM takes it.
bool looks_like_hub_id(const std::string& model) {
    return std::count(model.begin(), model.end(), '/') == 1 && model.front() != '/' &&
           model.back() != '/' && !model.starts_with("./") && !model.ends_with(".gguf");
}

/// Nothing if the names are not all parts of one model.
std::string first_part_of_one_model(const std::vector<std::string>& names) {
    std::string first;
    for (const std::string& name : names) {
        const auto split = parse_split_name(name);
        if (!split) return "";
        const std::string part_1 = split_path(*split, 1);
        if (!first.empty() && first != part_1) return "";
        first = part_1;
    }
    return first;
}

Result<std::string> resolve_folder(const std::string& folder) {
    TRY(const std::vector<std::string> all, list_directory(folder));
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    std::vector<std::string> names;
    bool has_config = false;
    bool has_safetensors = false;
    for (const std::string& name : all) {
        has_config = has_config || name == "config.json";
        has_safetensors = has_safetensors || name.ends_with(".safetensors");
        const bool counts = name.ends_with(".gguf") && !name.starts_with("mmproj");
        if (counts && is_regular_file(prefix + name)) names.push_back(name);
    }
    if (names.empty()) {
        if (has_config || has_safetensors) {
            return not_found(folder, " is a Hugging Face folder (",
                             has_safetensors ? "safetensors" : "config.json",
                             "); weir reads those later: give a .gguf file for now");
        }
        return not_found("no .gguf file in the folder ", folder);
    }
    if (names.size() == 1) return prefix + names[0];
    const std::string first = first_part_of_one_model(names);
    if (first.empty()) {
        return not_found("the folder ", folder, " holds ", names.size(),
                         " models; name one of them: ", list_names(names));
    }
    if (!is_regular_file(prefix + first)) {
        return not_found("the folder ", folder, " lacks the first part of its model, ", first);
    }
    return prefix + first;
}

}  // namespace

Result<std::string> resolve_model_path(const std::string& model) {
    if (model.empty()) return not_found("MODEL is empty: give a .gguf file or a folder");
    if (is_directory(model)) return resolve_folder(model);
    if (path_exists(model)) return model;
    const char* advice = looks_like_hub_id(model)
                             ? "; weir does not download models: get its .gguf file and name that"
                             : "; give a .gguf file or a folder with one";
    return not_found("no such file or folder: ", printable(model), advice);
}

}  // namespace weir
