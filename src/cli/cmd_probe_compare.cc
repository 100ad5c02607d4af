// `sonde probe compare`: two precision dumps row by row.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "cli/command.h"
#include "precision/compare_job.h"

namespace sonde::cli {
namespace {

using base::Concat;
using precision::CompareOptions;
using precision::CompareOutcome;
using precision::PairOutcome;

constexpr std::string_view kExample =
    "sonde probe compare -tp npu/step0/rank0/dump.json -gp gpu/step0/rank0/dump.json -o result\n"
    "sonde probe compare -tp npu/step0 -gp gpu/step0 -fm --xlsx      # all ranks of a step\n"
    "sonde probe compare -tp npu -gp gpu -da                         # all steps, first difference";

void PrintPair(const PairOutcome& pair) {
  std::string text = Concat(pair.target, "\n  against    ", pair.golden, "\n");
  if (pair.status.ok()) {
    text += Concat("  mode       ", pair.mode, "\n", pair.summary_text);
    for (const std::string& file : pair.files) text += Concat("  written    ", file, "\n");
  } else {
    text += Concat("  failed     ", pair.status.message(), "\n");
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<int> Compare(const CompareOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const CompareOutcome outcome, precision::RunCompare(options));
  size_t failed = 0;
  for (const std::string& note : outcome.notes) PrintNotice(note);
  for (const PairOutcome& pair : outcome.pairs) {
    PrintPair(pair);
    if (!pair.status.ok()) ++failed;
  }
  if (failed == 0) return kExitOk;
  return base::FailedPreconditionError(Concat(std::to_string(failed), " of ",
                                              std::to_string(outcome.pairs.size()),
                                              " pairs could not be compared, see above"));
}

CommandAction Declare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  app.add_option("--tp,--target_path", options->target_path,
                 "The run under test: dump.json, a rank, step or dump folder")
      ->required();
  app.add_option("--gp,--golden_path", options->golden_path, "The run it is held against")
      ->required();
  app.add_option("-o,--output_path", options->output_path, "Folder for the results")
      ->capture_default_str();
  app.add_flag("--fm,--fuzzy_match", options->fuzzy_match,
               "Match names without their call number, in order");
  return [options](const Context&) { return Compare(*options); };
}

}  // namespace

Command ProbeCompareCommand() {
  return {.name = "compare",
          .summary = "Compare two dumps: statistics, checksums or tensors",
          .example = kExample,
          .declare = &Declare};
}

}  // namespace sonde::cli
