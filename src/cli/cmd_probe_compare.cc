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

struct Options {
  CompareOptions compare;
  std::string input;
  std::string mode = "auto";
};

void PrintPair(const PairOutcome& pair) {
  std::string text;
  for (const std::string& line : pair.log) text += line + "\n";
  text += Concat(pair.target, "\n  against    ", pair.golden, "\n");
  if (!pair.status.ok()) {
    text += Concat("  failed     ", pair.status.message(), "\n");
  } else {
    text += Concat("  mode       ", pair.mode, "\n", pair.summary_text);
    if (pair.tensors.unreadable > 0) {
      text += Concat("  unreadable ", std::to_string(pair.tensors.unreadable),
                     " rows, the first: ", pair.tensors.first, "\n");
    }
    for (const std::string& note : pair.notes) text += Concat("  note       ", note, "\n");
    for (const std::string& file : pair.files) text += Concat("  written    ", file, "\n");
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<int> Report(const CompareOutcome& outcome) {
  size_t failed = 0;
  for (const std::string& note : outcome.notes) PrintNotice(note);
  for (const PairOutcome& pair : outcome.pairs) {
    PrintPair(pair);
    if (!pair.status.ok()) ++failed;
  }
  std::string text;
  for (const std::string& line : outcome.first_differences) {
    text += Concat("first difference  ", line, "\n");
  }
  for (const std::string& file : outcome.files) text += Concat("written           ", file, "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (failed == 0) return kExitOk;
  return base::FailedPreconditionError(Concat(std::to_string(failed), " of ",
                                              std::to_string(outcome.pairs.size()),
                                              " pairs could not be compared, see above"));
}

Result<int> Compare(const Context& context, Options options) {
  if (options.mode != "auto") {
    return WrongUsage(context, Concat("--mode ", options.mode,
                                      " is not supported; dumps are compared in mode auto"));
  }
  if (!options.input.empty()) {
    SONDE_RETURN_IF_ERROR(precision::ReadCompareInput(options.input, &options.compare));
  } else if (options.compare.target_path.empty() || options.compare.golden_path.empty()) {
    return WrongUsage(context, "give -tp and -gp, or -i with a JSON file that names both");
  }
  SONDE_ASSIGN_OR_RETURN(const CompareOutcome outcome, precision::RunCompare(options.compare));
  return Report(outcome);
}

// An option with an optional file: alone it stands for the built-in mapping.
void AddMapping(CLI::App& app, const std::string& names, std::optional<std::string>& value,
                const std::string& help) {
  app.add_option_function<std::vector<std::string>>(
         names,
         [&value](const std::vector<std::string>& files) {
           value = files.empty() ? std::string() : files.front();
         },
         help)
      ->expected(0, 1)
      ->type_name("[FILE]")
      ->group("Matching");
}

CommandAction Declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CompareOptions& compare = options->compare;
  app.add_option("--tp,--target_path", compare.target_path,
                 "The run under test: dump.json, a rank, step or dump folder");
  app.add_option("--gp,--golden_path", compare.golden_path, "The run it is held against");
  app.add_option("-i,--input_path", options->input,
                 "JSON file with npu_path, bench_path and stack_path instead");
  app.add_option("-o,--output_path", compare.output_path, "Folder for the results")
      ->capture_default_str();
  app.add_option("-m,--mode", options->mode, "auto: statistics, checksums or tensors by the data")
      ->capture_default_str();
  app.add_flag("--xlsx", compare.xlsx, "Write a coloured workbook instead of csv");
  app.add_flag("--da,--diff_analyze", compare.analyze_difference,
               "Also look for the calls that differ first, over all ranks");
  app.add_option("--config", compare.calibration_path,
                 "Calibration matrices for tensors, a YAML file");
  app.add_option("--metric", compare.metric_paths,
                 "A metric of your own for tensors: a shared library; may be repeated");
  app.add_option("--sql-metric", compare.sql_metrics,
                 "A metric of your own as SQL over a row: name=expression; may be repeated");
  app.add_flag("--store", compare.store, "Also write a store for sonde query");
  app.add_flag("--tensor_log,--is_print_compare_log", compare.log_tensors,
               "One line of output a tensor");
  app.add_flag("--fm,--fuzzy_match", compare.fuzzy_match,
               "Match names without their call number, in order")
      ->group("Matching");
  AddMapping(app, "--cm,--cell_mapping", compare.mapping.cells,
             "MindSpore cells to PyTorch modules");
  AddMapping(app, "--am,--api_mapping", compare.mapping.apis, "MindSpore APIs to PyTorch APIs");
  AddMapping(app, "--lm,--layer_mapping", compare.mapping.layers,
             "Layers by their place in the module tree");
  app.add_option("--dm,--data_mapping", compare.mapping.data, "Single parameters, a YAML file")
      ->group("Matching");
  return [options](const Context& context) { return Compare(context, *options); };
}

}  // namespace

Command ProbeCompareCommand() {
  return {.name = "compare",
          .summary = "Compare two dumps: statistics, checksums or tensors",
          .example = kExample,
          .declare = &Declare};
}

}  // namespace sonde::cli
