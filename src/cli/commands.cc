#include "cli/commands.h"

namespace sonde::cli {

// One line a command: here its maker, below its place in the list.
Command AdvisorCommand();
Command RunCommand();
Command AnalyseCommand();
Command ClusterCommand();
Command ClusterMapCommand();
Command ClusterReduceCommand();
Command ClusterShuffleCommand();
Command CompareCommand();
Command DoctorCommand();
Command LakeCommand();
Command ProbeCommand();
Command ProbeFirstDifferenceCommand();
Command QueryCommand();
Command ViewCommand();

std::vector<Command> AllCommands() {
  return {
      RunCommand(),
      AnalyseCommand(),
      ClusterCommand(),
      ClusterMapCommand(),
      ClusterShuffleCommand(),
      ClusterReduceCommand(),
      CompareCommand(),
      AdvisorCommand(),
      DoctorCommand(),
      ProbeCommand(),
      QueryCommand(),
      LakeCommand(),
      ViewCommand(),
      ProbeFirstDifferenceCommand(),
  };
}

}  // namespace sonde::cli
