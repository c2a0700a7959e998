#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

using Arguments = std::vector<std::string>;

/// A sub-command: its arguments (without "weir NAME") to the process' exit code. 0: done, 1: the world
/// said no, 2: the command line is wrong.
int serve_command(const Arguments& arguments);
int docs_command(const Arguments& arguments);

/// `weir ARGUMENTS`: finds the sub-command; --help and --version.
int run_command_line(const Arguments& arguments);

/// One line (or text) to stdout or stderr, without buffering surprises.
void print_out(std::string_view text);
void print_error(std::string_view text);

}  // namespace weir
