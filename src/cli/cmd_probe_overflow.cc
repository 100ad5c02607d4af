// `sonde probe overflow_check`: where infinities and NaN first appear.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/strings.h"
#include "cli/command.h"
#include "precision/overflow_job.h"

namespace sonde::cli {
namespace {

struct ProbeOverflowOptions {
  std::string input;
  std::string output = "./output";
};

Result<int> Search(const ProbeOverflowOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const precision::OverflowOutcome outcome,
                         precision::FindFirstOverflow(options.input, options.output));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  if (outcome.found.empty()) {
    PrintText("no call with finite inputs has an output with infinities or NaN\n");
    return kExitOk;
  }
  for (const std::string& call : outcome.found) PrintText(base::Concat("first      ", call, "\n"));
  PrintText(base::Concat("written    ", outcome.file, "\n"));
  return kExitOk;
}

CommandAction DeclareProbeOverflow(CLI::App& app) {
  auto options = std::make_shared<ProbeOverflowOptions>();
  app.add_option("-i,--input_path", options->input, "Folder of one step, with its ranks")
      ->required();
  app.add_option("-o,--output_path", options->output, "Folder for the result")
      ->capture_default_str();
  return [options](const Context&) { return Search(*options); };
}

}  // namespace

Command ProbeOverflowCommand() {
  return {.name = "overflow_check",
          .summary = "Find the first call that produces infinities or NaN",
          .example = "sonde probe overflow_check -i dump/step0 -o result",
          .declare = &DeclareProbeOverflow};
}

}  // namespace sonde::cli
