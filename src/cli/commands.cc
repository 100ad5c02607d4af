#include "cli/commands.h"

namespace sonde::cli {

// One line a command: here its maker, below its place in the list.
Command RunCommand();
Command AnalyseCommand();
Command DoctorCommand();
Command ProbeCommand();

std::vector<Command> AllCommands() {
  return {
      RunCommand(),
      AnalyseCommand(),
      DoctorCommand(),
      ProbeCommand(),
  };
}

}  // namespace sonde::cli
