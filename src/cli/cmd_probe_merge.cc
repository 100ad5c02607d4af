// `sonde probe merge`: the results of many ranks in one workbook.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/count_of.h"
#include "base/strings.h"
#include "cli/command.h"
#include "precision/merge/merge_job.h"

namespace sonde::cli {
namespace {

using precision::MergeOptions;
using precision::MergeOutcome;

Result<int> Merge(const MergeOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const MergeOutcome outcome, precision::MergeResults(options));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  PrintText(base::Concat("merged     ", base::CountOf(outcome.rows, "parameter"), " of ",
                         base::CountOf(outcome.ranks, "rank"), "\nwritten    ", outcome.file,
                         "\n"));
  return kExitOk;
}

CommandAction DeclareProbeMerge(CLI::App& app) {
  auto options = std::make_shared<MergeOptions>();
  app.add_option("-i,--input_dir", options->input_path,
                 "Folder with compare_result_rank<N>_<time>.csv or .xlsx")
      ->required();
  app.add_option("-o,--output_dir", options->output_path, "Folder for the workbook")->required();
  app.add_option("--config,--config-path", options->config_path,
                 "YAML: api: [calls], compare_index: [metrics] (empty: all)")
      ->required();
  return [options](const Context&) { return Merge(*options); };
}

}  // namespace

Command ProbeMergeCommand() {
  return {.name = "merge",
          .summary = "Put the results of many ranks side by side, one sheet for each metric",
          .example = "sonde probe merge -i result -o merged -config calls.yaml",
          .declare = &DeclareProbeMerge};
}

}  // namespace sonde::cli
