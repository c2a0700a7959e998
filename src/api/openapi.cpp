#include "api/api_server.h"
#include "api/fields.h"
#include "api/routes.h"
#include "base/json.h"
#include "base/text.h"

namespace weir {

namespace {

/// Which rows of fields.def belong to a route; 0: it takes no fields.
unsigned field_route(RouteId id) {
    switch (id) {
        case RouteId::kCompletions: return FieldRoute::kC;
        case RouteId::kChat: return FieldRoute::kX;
        case RouteId::kTokenize: return FieldRoute::kT;
        case RouteId::kDetokenize: return FieldRoute::kD;
        default: return 0;
    }
}

Json any_of(std::initializer_list<Json> choices) {
    return Json::object({{"anyOf", Json::array(choices)}});
}

Json type_only(const char* name) { return Json::object({{"type", name}}); }

Json list_of(Json items) { return Json::object({{"type", "array"}, {"items", std::move(items)}}); }

Json type_schema(FieldType type) {
    switch (type) {
        case FieldType::kBool: return type_only("boolean");
        case FieldType::kInt: return type_only("integer");
        case FieldType::kFloat: return type_only("number");
        case FieldType::kString: return type_only("string");
        case FieldType::kStrings:
            return any_of({type_only("string"), list_of(type_only("string"))});
        case FieldType::kTokens: return list_of(type_only("integer"));
        case FieldType::kObject: return type_only("object");
        case FieldType::kArray: return list_of(Json::object());
        case FieldType::kPrompt:
            return any_of({type_only("string"), list_of(type_only("string")),
                           list_of(type_only("integer")), list_of(list_of(type_only("integer")))});
        case FieldType::kAny: return Json::object();
    }
    return {};
}

/// A word for people.
std::string_view type_word(FieldType type) {
    switch (type) {
        case FieldType::kBool: return "boolean";
        case FieldType::kInt: return "integer";
        case FieldType::kFloat: return "number";
        case FieldType::kString: return "string";
        case FieldType::kStrings: return "string or list of strings";
        case FieldType::kTokens: return "list of token ids";
        case FieldType::kObject: return "object";
        case FieldType::kArray: return "list";
        case FieldType::kPrompt: return "text or token ids, or a list of them";
        case FieldType::kAny: return "any";
    }
    return "";
}

std::string describe(const FieldSpec& field) {
    std::string text(field.doc);
    switch (field.use) {
        case FieldUse::kUsed: break;
        case FieldUse::kIgnored: text += text.empty() ? "ignored" : " (ignored)"; break;
        case FieldUse::kWarned: text += " (ignored with a warning)"; break;
        case FieldUse::kLater: text += " (not supported yet: 501)"; break;
    }
    return text;
}

Json body_schema(unsigned route) {
    Json properties = Json::object();
    for (const FieldSpec& field : field_specs()) {
        if ((field.routes & route) == 0) continue;
        Json schema = type_schema(field.type);
        std::string text = describe(field);
        if (!field.range.empty()) text += concat(". Range: ", field.range);
        if (!field.default_text.empty()) text += concat(". Default: ", field.default_text);
        schema.set("description", Json(std::move(text)));
        properties.set(field.name, std::move(schema));
    }
    Json schema = Json::object({{"type", "object"}, {"properties", std::move(properties)}});
    if (route == FieldRoute::kX) schema.set("required", Json::array({"messages"}));
    if (route == FieldRoute::kC) schema.set("required", Json::array({"prompt"}));
    if (route == FieldRoute::kD) schema.set("required", Json::array({"tokens"}));
    return schema;
}

Json operation(const RouteSpec& route, std::string_view method) {
    Json ok = Json::object({{"description", "the answer"}});
    Json responses = Json::object({{"200", std::move(ok)}});
    std::string id = concat(to_lower(method), route.path);
    for (char& c : id) {
        if (c == '/' || c == '.') c = '_';
    }
    Json out = Json::object({{"summary", Json(route.doc)}, {"operationId", Json(std::move(id))}});
    const unsigned fields = field_route(route.id);
    if (fields != 0) {
        responses.set("400", Json::object({{"description", "a field is wrong; see error.param"}}));
        Json media = Json::object({{"schema", body_schema(fields)}});
        Json content = Json::object({{"application/json", std::move(media)}});
        out.set("requestBody", Json::object({{"required", true}, {"content", std::move(content)}}));
    }
    out.set("responses", std::move(responses));
    return out;
}

void append_html(std::string& out, std::string_view text) {
    for (const char c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
}

void append_fields_html(std::string& out, unsigned route) {
    out += "<table><tr><th>field<th>type<th>default<th>range<th>what it does</tr>\n";
    for (const FieldSpec& field : field_specs()) {
        if ((field.routes & route) == 0) continue;
        out += "<tr><td><code>";
        append_html(out, field.name);
        out += "</code>";
        for (const std::string_view cell :
             {type_word(field.type), field.default_text, field.range}) {
            out += "<td>";
            append_html(out, cell);
        }
        out += "<td>";
        append_html(out, describe(field));
        out += "</tr>\n";
    }
    out += "</table>\n";
}

constexpr std::string_view kDocsHead =
    "<!doctype html><html lang=en><meta charset=utf-8>"
    "<meta name=viewport content=\"width=device-width, initial-scale=1\"><title>weir: HTTP "
    "interface</title><style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;"
    "max-width:64rem;padding:0 1rem;color-scheme:light dark}table{border-collapse:collapse;"
    "display:block;overflow-x:auto}td,th{border:1px solid #8886;padding:.25rem .5rem;"
    "text-align:left;vertical-align:top}h2{margin-top:2.5rem}code{font-size:.95em}</style>\n";

}  // namespace

std::string openapi_json(const ApiOptions& options) {
    Json paths = Json::object();
    for (const RouteSpec& route : route_specs()) {
        if (!route_exists(route, options, false)) continue;
        Json item = Json::object();
        const std::string_view methods = route.methods.empty() ? "GET" : route.methods;
        for (const std::string_view method : split(methods, ' ')) {
            item.set(to_lower(method), operation(route, method));
        }
        paths.set(route.path, std::move(item));
    }
    Json info = Json::object({{"title", "weir"}, {"version", Json(options.version)}});
    return Json::object(
               {{"openapi", "3.1.0"}, {"info", std::move(info)}, {"paths", std::move(paths)}})
        .dump();
}

std::string docs_html(const ApiOptions& options) {
    std::string out(kDocsHead);
    out += "<h1>weir ";
    append_html(out, options.version);
    out += "</h1><p>The same for machines: <a href=openapi.json>openapi.json</a>.</p><ul>\n";
    for (const RouteSpec& route : route_specs()) {
        if (!route_exists(route, options, false)) continue;
        out += "<li><code>";
        append_html(out, route.methods.empty() ? "any" : route.methods);
        out += ' ';
        append_html(out, route.path);
        out += "</code> ";
        append_html(out, route.doc);
        out += "</li>\n";
    }
    out += "</ul>\n";
    for (const RouteSpec& route : route_specs()) {
        if (field_route(route.id) == 0) continue;
        out += "<h2>";
        append_html(out, route.path);
        out += "</h2>\n";
        append_fields_html(out, field_route(route.id));
    }
    return out + "</html>\n";
}

std::string api_reference_markdown() {
    std::string out = "# HTTP interface\n\n| method | path | when | what |\n|---|---|---|---|\n";
    for (const RouteSpec& route : route_specs()) {
        constexpr std::string_view kWhen[] = {"always", "VLLM_SERVER_DEV_MODE=1",
                                              "unless --disable-fastapi-docs", "always"};
        out += concat("| ", route.methods.empty() ? "any" : route.methods, " | `", route.path,
                      "` | ", kWhen[static_cast<size_t>(route.when)], " | ", route.doc, " |\n");
    }
    for (const RouteSpec& route : route_specs()) {
        const unsigned fields = field_route(route.id);
        if (fields == 0) continue;
        out += concat("\n## ", route.path,
                      "\n\n| field | type | default | range | what |\n|---|---|---|---|---|\n");
        for (const FieldSpec& field : field_specs()) {
            if ((field.routes & fields) == 0) continue;
            out += concat("| `", field.name, "` | ", type_word(field.type), " | ",
                          field.default_text, " | ", field.range, " | ", describe(field), " |\n");
        }
    }
    return out;
}

}  // namespace weir
