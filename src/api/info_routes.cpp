#include "api/info_routes.h"

#include "api/chat_prompt.h"
#include "api/errors.h"
#include "api/fields.h"
#include "api/json_body.h"
#include "api/json_text.h"
#include "base/text.h"

namespace weir {

namespace {

/// Reads, checks and hands a body on: what all routes of this file begin with.
tl::expected<Json, HttpResponse> read_fields(const HttpRequest& request, unsigned route,
                                             const ApiContext& context) {
    auto body = read_json_body(request);
    if (!body) return body;
    std::vector<std::string_view> warned;
    const auto checked = check_fields(*body, route, context.options.limits, warned);
    if (!checked) return tl::unexpected(error_response(checked.error()));
    const auto model = check_model(*body, context.options);
    if (!model) return tl::unexpected(error_response(model.error()));
    return body;
}

Result<std::vector<TokenId>> tokenize(const Json& body, const ApiContext& context) {
    if (body.find("messages")) {
        TRY(ChatPrompt prompt, render_chat(body, context));
        return std::move(prompt.ids);
    }
    const std::string* text = string_field(body, "prompt");
    if (!text) {
        return tl::unexpected(schema_error({{"body.prompt", "Field required", show_input(body)}}));
    }
    EncodeOptions encoding;
    encoding.add_special_tokens = bool_field(body, "add_special_tokens", true);
    return context.parts.tokenizer->encode(*text, encoding);
}

Result<std::vector<TokenId>> read_tokens(const Json& body, int32_t vocab_size) {
    const Json* list = body.find("tokens");
    if (!list) {
        return tl::unexpected(schema_error({{"body.tokens", "Field required", show_input(body)}}));
    }
    std::vector<TokenId> ids;
    ids.reserve(list->size());
    for (const Json& item : list->items()) {
        const int64_t id = item.as_int();
        if (id < 0 || id >= vocab_size) {
            return fail(ErrorCode::kBadRequest, concat("Token id ", id, " is out of vocabulary"));
        }
        ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
}

}  // namespace

std::string models_json(const ApiOptions& options, int64_t created, const std::string& id) {
    Json data = Json::array();
    for (const std::string& name : options.served_model_names) {
        const Json permission = Json::object({{"id", Json("modelperm-" + id)},
                                              {"object", "model_permission"},
                                              {"created", Json(created)},
                                              {"allow_create_engine", false},
                                              {"allow_sampling", true},
                                              {"allow_logprobs", true},
                                              {"allow_search_indices", false},
                                              {"allow_view", true},
                                              {"allow_fine_tuning", false},
                                              {"organization", "*"},
                                              {"group", nullptr},
                                              {"is_blocking", false}});
        data.push_back(Json::object({{"id", Json(name)},
                                     {"object", "model"},
                                     {"created", Json(created)},
                                     {"owned_by", Json(options.owned_by)},
                                     {"root", Json(options.model_root)},
                                     {"parent", nullptr},
                                     {"max_model_len", Json(options.max_model_len)},
                                     {"permission", Json::array({permission})}}));
    }
    return Json::object({{"object", "list"}, {"data", std::move(data)}}).dump();
}

HttpResponse answer_tokenize(const HttpRequest& request, const ApiContext& context) {
    const auto body = read_fields(request, FieldRoute::kT, context);
    if (!body) return body.error();
    const auto ids = tokenize(*body, context);
    if (!ids) return error_response(ids.error());
    std::string out = "{\"count\":";
    append_number(out, ids->size());
    out += ",\"max_model_len\":";
    append_number(out, context.options.max_model_len);
    out += ",\"tokens\":";
    append_ids(out, *ids);
    out += ",\"token_strs\":";
    if (bool_field(*body, "return_token_strs", false)) {
        out += '[';
        for (size_t i = 0; i < ids->size(); ++i) {
            if (i > 0) out += ',';
            append_json_string(out, context.parts.tokenizer->token_string((*ids)[i]));
        }
        out += ']';
    } else {
        out += "null";
    }
    out += '}';
    return json_response(200, std::move(out));
}

HttpResponse answer_detokenize(const HttpRequest& request, const ApiContext& context) {
    const auto body = read_fields(request, FieldRoute::kD, context);
    if (!body) return body.error();
    const Tokenizer& tokenizer = *context.parts.tokenizer;
    const auto ids = read_tokens(*body, tokenizer.vocab_size());
    if (!ids) return error_response(ids.error());
    std::string out = "{\"prompt\":";
    append_json_string(out, tokenizer.decode(*ids, false));
    out += '}';
    return json_response(200, std::move(out));
}

}  // namespace weir
