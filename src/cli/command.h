// A subcommand of `sonde`.
//
// A new one is a file cmd_<name>.cc that defines `Command <Name>Command()`, and its line in the
// list of commands.cc. The file includes CLI11, declares its options in a function, and returns
// what is to be done once they are parsed:
//
//   CommandAction Declare(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     app.add_option("PATH", options->path, "a capture")->required();
//     return [options](const Context& context) -> Result<int> { ...; return 0; };
//   }
//   Command ShowCommand() {
//     return {.name = "show", .summary = "Show a capture", .example = "sonde show ./profile",
//             .declare = &Declare};
//   }
//
// Exit status: the number that the action returns. A failed Status becomes one line "sonde: error:
// ..." and status 1. Wrong usage that only the command can see (options that contradict each other)
// is `return WrongUsage(context, "...")`: one line and status 2. Results go to stdout, everything
// else to stderr. No exceptions leave a command.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/layout.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sonde::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Data that main() passes to the commands; constant while one runs.
struct Context {
  Layout layout;
  std::string_view command_name;          // "run"
  std::vector<std::string> command_line;  // the words after "--" (Command::takes_command_line)
};

using CommandAction = std::function<Result<int>(const Context& context)>;

struct Command {
  std::string_view name = {};
  std::string_view summary = {};  // one line, for the list of commands
  std::string_view example = {};  // shown by --help: one or more command lines that work
  CommandAction (*declare)(CLI::App& app) = nullptr;
  // What to do instead of a command of another tool that has no counterpart below this one; empty
  // for other words. May be null.
  std::string_view (*instead_of)(std::string_view word) = nullptr;
  // The command line of another program follows, best after "--": `sonde run -- python3 a.py`.
  bool takes_command_line = false;
};

// Prints "sonde: error: <message>" on one line of standard error.
void PrintError(std::string_view message);
// Where this variable is 1 only errors are printed to standard error: sonde run --quiet, and
// its child processes.
inline constexpr const char* kQuietVariable = "SONDE_QUIET";
// Prints "sonde: <message>" on one line of standard error: something the user should know.
void PrintNotice(std::string_view message);
// What a command has to say on standard output: for people, and JSON for programs, on a line. All
// output goes through these, so that no name in a trace commands the terminal (terminal_text.h).
void PrintText(std::string_view text);
void PrintJson(std::string_view json);
// Prints the error and where to find help; returns kExitUsage.
int WrongUsage(const Context& context, std::string_view message);

}  // namespace sonde::cli
