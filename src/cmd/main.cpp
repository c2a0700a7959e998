#include "cmd/commands.h"

int main(int argc, char** argv) {
    return weir::run_command_line(weir::Arguments(argv + 1, argv + argc));
}
