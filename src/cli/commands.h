// The list of all subcommands, and finding the one that a user meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace sonde::cli {

// In the order in which --help shows them.
std::vector<Command> AllCommands();

// Runs `arguments` (without the program's name) against `commands`; returns the exit status. Prints
// help, version and errors itself.
int Dispatch(std::span<const Command> commands, std::span<const std::string> arguments,
             Context context);

}  // namespace sonde::cli
