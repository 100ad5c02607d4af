// `sonde probe`: what is done with precision dumps. Each command below it has a file of its own.
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cli/command.h"

namespace sonde::cli {

// One line a command: here its maker, below its place in the list.
Command ProbeAccCheckCommand();
Command ProbeApiCompareCommand();
Command ProbeCompareCommand();
Command ProbeCompileCheckCommand();
Command ProbeConfigCommand();
Command ProbeFirstDifferenceCommand();
Command ProbeGraphCommand();
Command ProbeIrCommand();
Command ProbeMergeCommand();
Command ProbeOverflowCommand();
Command ProbeReproduceCommand();

namespace {

// msProbe's names of our commands.
struct OtherName {
  std::string_view ours;
  std::string_view theirs;
};
constexpr OtherName kOtherNames[] = {{"graph", "graph_visualize"},
                                     {"merge", "merge_result"},
                                     {"overflow_check", "nan_analyze"},
                                     {"acc_check", "run_ut"}};

// Of either generation of msProbe, without a command of ours that does the same.
struct Instead {
  std::string_view theirs;
  std::string_view advice;
};
constexpr Instead kInstead[] = {
    {"multi_acc_check", "start 'sonde probe acc_check -d N' once for each device"},
    {"multi_run_ut", "start 'sonde probe acc_check -d N' once for each device"},
    {"op_generate", "'sonde probe reproduce ENTRY' writes a program for one call"},
    {"run_overflow_check",
     "'sonde probe acc_check' runs calls again, 'overflow_check' finds the "
     "first overflow of a dump"},
    {"checkpoint", "'sonde probe compare' compares two checkpoints, too"},
    {"data2db", "'sonde probe compare --store' and 'graph --store' write stores for 'sonde query'"},
    {"install_deps", "nothing needs to be installed"},
    {"parse", "it reads kernels' data with CANN's own tools: use msprobe on a machine with CANN"},
    {"offline_dump", "it runs models with CANN's own tools: use msprobe on a machine with CANN"},
    {"code_mapping", "'sonde probe ir FOLDER --values DUMP' joins nodes, source lines and values"},
};

std::string_view InsteadOf(std::string_view word) {
  for (const Instead& instead : kInstead) {
    if (instead.theirs == word) return instead.advice;
  }
  return {};
}

std::vector<Command> ProbeCommands() {
  return {
      ProbeCompareCommand(),      ProbeConfigCommand(),     ProbeGraphCommand(),
      ProbeMergeCommand(),        ProbeOverflowCommand(),   ProbeAccCheckCommand(),
      ProbeReproduceCommand(),    ProbeApiCompareCommand(), ProbeIrCommand(),
      ProbeCompileCheckCommand(),
  };
}

CommandAction DeclareProbe(CLI::App& app) {
  auto actions = std::make_shared<std::vector<std::pair<CLI::App*, CommandAction>>>();
  app.require_subcommand(1);
  for (const Command& command : ProbeCommands()) {
    CLI::App* below = app.add_subcommand(std::string(command.name), std::string(command.summary));
    for (const OtherName& name : kOtherNames) {
      if (name.ours == command.name) below->alias(std::string(name.theirs));
    }
    below->footer(base::Concat("\nExample:\n  ", base::ReplaceAll(command.example, "\n", "\n  ")));
    actions->emplace_back(below, command.declare(*below));
  }
  // Dispatch finds it first, as a command of its own: here it is for the list.
  const Command difference = ProbeFirstDifferenceCommand();
  constexpr size_t kPrefix = std::string_view("probe ").size();
  app.add_subcommand(std::string(difference.name.substr(kPrefix)), std::string(difference.summary));
  return [actions](const Context& context) -> Result<int> {
    for (const auto& [below, action] : *actions) {
      if (below->parsed()) return action(context);
    }
    return WrongUsage(context, "no command given");
  };
}

}  // namespace

Command ProbeCommand() {
  return {.name = "probe",
          .summary =
              "Precision dumps: compare two runs, build graphs, find the first overflow, run calls "
              "again",
          .example = "sonde probe compare -tp target/step0 -gp golden/step0 -o result",
          .declare = &DeclareProbe,
          .instead_of = &InsteadOf};
}

}  // namespace sonde::cli
