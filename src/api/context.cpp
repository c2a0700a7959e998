#include "api/context.h"

#include <algorithm>

#include "api/errors.h"
#include "api/fields.h"
#include "base/text.h"

namespace weir {

std::string ApiContext::random_id() {
    constexpr char kHex[] = "0123456789abcdef";
    const uint64_t bits = ids.next();
    std::string id(16, '0');
    for (size_t i = 0; i < id.size(); ++i) id[i] = kHex[(bits >> (4 * i)) & 15];
    return id;
}

Result<void> check_model(const Json& body, const ApiOptions& options) {
    const std::string* name = string_field(body, "model");
    if (!name || name->empty() || options.skip_model_name_validation) return {};
    if (std::ranges::find(options.served_model_names, *name) != options.served_model_names.end()) {
        return {};
    }
    return fail(ErrorCode::kModelNotFound,
                concat("The model `", shorten(*name, 200), "` does not exist. Valid aliases: ",
                       join(options.served_model_names, ", "), "."),
                "model");
}

}  // namespace weir
