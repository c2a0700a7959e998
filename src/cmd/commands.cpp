#include "cmd/commands.h"

#include <climits>
#include <cstdio>

#include "base/text.h"

namespace weir {

namespace {

struct Command {
    const char* name;
    int (*run)(const Arguments& arguments);
    const char* help;
};

constexpr Command kCommands[] = {
#define WEIR_COMMAND(name, function, help) {name, function, help},
#include "cmd/commands.def"
};

void print_help() {
    print_out(
        "weir runs an LLM serving node and proves that it does what you think it does.\n\n"
        "usage: weir COMMAND [arguments]\n\n");
    for (const Command& command : kCommands) {
        std::string line = concat("  weir ", command.name);
        line.resize(20, ' ');
        print_out(concat(line, command.help, "\n"));
    }
    print_out(
        "\n  weir COMMAND --help   what a command takes\n"
        "  weir --version        the version\n\n"
        "Begin with: weir serve model.gguf\n");
}

int refuse_unknown(const std::string& name) {
    std::string nearest;
    int distance = INT_MAX;
    for (const Command& command : kCommands) {
        const int d = edit_distance(name, command.name);
        if (d < distance) {
            distance = d;
            nearest = command.name;
        }
    }
    print_error(concat("weir: unknown command '", shorten(name, 60), "' (nearest: ", nearest,
                       "; all: weir --help)\n"));
    return 2;
}

}  // namespace

void print_out(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void print_error(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

int run_command_line(const Arguments& arguments) {
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
        arguments[0] == "help") {
        print_help();
        return 0;
    }
    if (arguments[0] == "--version" || arguments[0] == "-v") {
        print_out("weir " WEIR_VERSION "\n");
        return 0;
    }
    for (const Command& command : kCommands) {
        if (arguments[0] == command.name) {
            return command.run(Arguments(arguments.begin() + 1, arguments.end()));
        }
    }
    return refuse_unknown(arguments[0]);
}

}  // namespace weir
