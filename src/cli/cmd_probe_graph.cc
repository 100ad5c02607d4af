// `sonde probe graph`: the call graph of a dump, or of two dumps compared, as a database.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "cli/command.h"
#include "precision/graph_job.h"

namespace sonde::cli {
namespace {

using base::Concat;
using precision::GraphOptions;
using precision::GraphOutcome;

constexpr std::string_view kExample =
    "sonde probe graph -tp npu/step0/rank0 -o result -oc        # one graph, overflow levels\n"
    "sonde probe graph -tp npu -gp gpu -o result                # all steps and ranks compared\n"
    "tensorboard --logdir result                                # opens it";

void PrintProgress(int percent) {
  std::printf("PROGRESS: {\"current_progress\": %d, \"process_running\": %s, \"error_msg\": []}\n",
              percent, percent < 100 ? "true" : "false");
  std::fflush(stdout);
}

Result<int> BuildGraph(const GraphOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const GraphOutcome outcome, precision::RunGraph(options));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  for (const std::string& line : outcome.log) std::printf("%s\n", line.c_str());
  const auto number = [](uint64_t n) { return std::to_string(n); };
  std::string text = Concat("nodes      ", number(outcome.target_nodes));
  if (!options.golden_path.empty()) {
    text += Concat(" and ", number(outcome.golden_nodes), ", ", number(outcome.matched),
                   " matched\nprecision  ", number(outcome.pass), " pass, ",
                   number(outcome.warning), " warning, ", number(outcome.error), " error");
  }
  if (options.overflow_check) {
    text += Concat("\noverflow   ", number(outcome.critical), " critical, ", number(outcome.high),
                   " high, ", number(outcome.medium), " medium");
  }
  if (!outcome.first_bad.empty()) text += Concat("\nfirst bad  ", outcome.first_bad);
  text += Concat("\nwritten    ", outcome.file, "\n");
  if (!outcome.store.empty()) text += Concat("           ", outcome.store, "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitOk;
}

CommandAction Declare(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  auto progress = std::make_shared<bool>(false);
  app.add_option("--tp,--target_path", options->target_path,
                 "Folder of the run: a rank, a step with ranks, or a dump with steps")
      ->required();
  app.add_option("--gp,--golden_path", options->golden_path,
                 "Folder of the run it is compared with (default: build only)");
  app.add_option("-o,--output_path", options->output_path, "Folder for the database")->required();
  app.add_flag("--oc,--overflow_check", options->overflow_check, "Mark where numbers overflow");
  app.add_flag("--fm,--fuzzy_match", options->fuzzy_match,
               "Match modules by name alone and APIs in order");
  app.add_option_function<std::vector<std::string>>(
         "--lm,--layer_mapping",
         [options](const std::vector<std::string>& files) {
           options->layer_mapping = files.empty() ? std::string() : files.front();
         },
         "Match by layers that are named otherwise")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app.add_flag("--store", options->store, "Also write a store for sonde query");
  app.add_flag("--tensor_log,--is_print_compare_log", options->log_tensors,
               "One line for every tensor that was compared");
  app.add_flag("--progress_log,--is_print_progress_log", *progress,
               "Print lines that tell another program how far the work is");
  return [options, progress](const Context&) {
    if (*progress) options->progress = &PrintProgress;
    return BuildGraph(*options);
  };
}

}  // namespace

Command ProbeGraphCommand() {
  return {.name = "graph",
          .summary = "Build or compare call graphs for TensorBoard's graph viewer",
          .example = kExample,
          .declare = &Declare};
}

}  // namespace sonde::cli
