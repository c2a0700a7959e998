#include <csignal>
#include <cstdio>

#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/node.h"
#include "config/serve_config.h"
#include "os/environment.h"
#include "os/log.h"
#include "os/process.h"

namespace weir {

namespace {

int exit_code_of(const Error& error) { return error.code == ErrorCode::kBadFlag ? 2 : 1; }

int refuse(const Error& error) {
    print_error(concat("weir serve: error: ", error.text, "\n"));
    return exit_code_of(error);
}

}  // namespace

int serve_command(const Arguments& arguments) {
    std::vector<EnvironmentValue> environment;
    for (const auto& [name, value] : environment_variables()) environment.push_back({name, value});
    const Result<LoadedConfig> loaded = load_serve_config(arguments, environment);
    if (!loaded) return refuse(loaded.error());
    if (loaded->help) {
        const Result<std::string> help = serve_help(*loaded->help);
        if (!help) return refuse(help.error());
        print_out(*help);
        return 0;
    }
    if (loaded->config.print_config) {
        for (const std::string& notice : loaded->notices) print_error(notice + "\n");
        print_out(print_config(*loaded));
        return 0;
    }
    const std::optional<LogLevel> level = parse_log_level(loaded->config.log_level);
    if (!level) {
        return refuse({ErrorCode::kBadFlag,
                       concat("argument --log-level: unknown level '", loaded->config.log_level,
                              "' (debug, info, warning, error)"),
                       "log_level"});
    }
    Logger log({.level = *level,
                .format = loaded->config.log_format == "json" ? LogFormat::kJson
                                                              : LogFormat::kText,
                .fd = 1});
    raise_fd_limit();
    const Result<int> code = run_node(*loaded, log);
    if (!code) {
        log.error(code.error().text);
        return refuse(code.error());
    }
    return *code;
}

}  // namespace weir
