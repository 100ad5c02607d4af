// `sonde probe overflow_check`: where infinities and NaN first appear.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "precision/dump/dump_tree.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_overflow.h"
#include "precision/overflow_job.h"

namespace sonde::cli {
namespace {

struct ProbeOverflowOptions {
  std::string input;
  std::string output = "./output";
};

Result<int> Search(const ProbeOverflowOptions& options) {
  const bool of_kernels = base::IsDirectory(options.input) &&
                          !precision::FindDumps(options.input).ok() &&
                          precision::FindKernelDumps(options.input, {}, {}).ok();
  SONDE_ASSIGN_OR_RETURN(const precision::OverflowOutcome outcome,
                         of_kernels ? precision::FindKernelOverflows(options.input, options.output)
                                    : precision::FindFirstOverflow(options.input, options.output));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  if (outcome.found.empty()) {
    const std::string_view where = outcome.notes.empty() ? "\n" : ", in what could be read\n";
    PrintText(base::Concat(of_kernels
                               ? "no kernel has an overflow record, or infinities or NaN of its own"
                               : "no call with finite inputs has an output with infinities or NaN",
                           where));
    return kExitOk;
  }
  for (const std::string& call : outcome.found) PrintText(base::Concat("first      ", call, "\n"));
  PrintText(base::Concat("written    ", outcome.file, "\n"));
  return kExitOk;
}

CommandAction DeclareProbeOverflow(CLI::App& app) {
  auto options = std::make_shared<ProbeOverflowOptions>();
  app.add_option("-i,--input_path", options->input,
                 "Folder of one step, with its ranks; or a dump of MindSpore's graphs")
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
