// `sonde probe compare`: two precision dumps row by row, or two checkpoints tensor by tensor.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/probe_checkpoint.h"
#include "precision/compare_input.h"
#include "precision/compare_job.h"
#include "precision/kernels/atb_job.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_job.h"
#include "precision/kernels/kernel_sides.h"

namespace sonde::cli {
namespace {

using base::Concat;
using precision::CompareOutcome;
using precision::Engine;
using precision::PairOutcome;

constexpr std::string_view kProbeCompareExample =
    "sonde probe compare -tp npu/step0/rank0/dump.json -gp gpu/step0/rank0/dump.json -o result\n"
    "sonde probe compare -tp npu/step0 -gp gpu/step0 -fm --xlsx      # all ranks of a step\n"
    "sonde probe compare -tp npu -gp gpu --fail-if first_difference  # all steps, in a pipeline\n"
    "sonde probe compare -tp iter_100/model.safetensors -gp model_folder   # two checkpoints";

struct ProbeCompareOptions {
  precision::CompareOptions compare;
  std::string input;
  std::string mode = "auto";
  std::string ranks;
  std::string steps;
  bool consistent = false;
  std::string backend;
  std::string format = "table";
  std::string fail_if;
};

constexpr int kExitFirstDifference = 3;
// From so many pairs on, those that only repeat the first finding or agree are one line each.
constexpr size_t kFewPairs = 4;

void PrintPair(const PairOutcome& pair) {
  std::string text;
  for (const std::string& line : pair.log) text += line + "\n";
  text += Concat(pair.target, "\n  against    ", pair.golden, "\n");
  if (!pair.status.ok()) {
    text += Concat("  failed     ", pair.status.message(), "\n");
  } else {
    text += Concat("  mode       ", pair.mode, "\n", pair.summary_text);
    if (pair.tensors.unreadable > 0) {
      text += Concat("  unreadable ", base::CountOf(pair.tensors.unreadable, "row"),
                     ", the first: ", pair.tensors.first, "\n");
    }
    for (const std::string& note : pair.notes) text += Concat("  note       ", note, "\n");
    for (const std::string& file : pair.files) text += Concat("  written    ", file, "\n");
  }
  PrintText(text);
}

std::string FilesText(const CompareOutcome& outcome) {
  std::string text;
  for (const std::string& line : outcome.first_differences) {
    // An indented line continues the one before.
    const bool goes_on = line.starts_with("  ");
    text += Concat(goes_on ? "                " : "first difference  ", line, "\n");
  }
  for (const std::string& file : outcome.files) text += Concat("written           ", file, "\n");
  return text;
}

void PrintConclusion(const CompareOutcome& outcome) {
  if (!outcome.has_conclusion) return;
  std::string text = Concat("first: ", outcome.conclusion.line, "\n");
  for (const std::string& line : outcome.conclusion.further) text += Concat("also:  ", line, "\n");
  PrintText(text);
}

// Of many pairs the one that differs first is shown whole, and those that failed.
void PrintPairs(const CompareOutcome& outcome) {
  const bool all = outcome.pairs.size() <= kFewPairs || !outcome.has_conclusion;
  size_t files = 0;
  for (size_t i = 0; i < outcome.pairs.size(); ++i) {
    const PairOutcome& pair = outcome.pairs[i];
    const bool first = outcome.conclusion.differs && i == outcome.conclusion.first;
    if (all || first || !pair.status.ok() || !pair.log.empty() || pair.tensors.unreadable > 0) {
      PrintPair(pair);
    } else {
      files += pair.files.size();
    }
  }
  if (files == 0) return;
  const std::string text = Concat("written           ", base::CountOf(files, "file"),
                                  " of the other pairs, in the same folder\n");
  PrintText(text);
}

void WritePairJson(const PairOutcome& pair, base::JsonWriter* json) {
  const precision::FirstCause& cause = pair.finding.cause;
  const auto text = [json](std::string_view key, std::string_view value) {
    json->Key(key);
    json->String(value);
  };
  json->BeginObject();
  text("target", pair.target);
  text("golden", pair.golden);
  json->Key("step");
  json->Int(pair.finding.step);
  json->Key("rank");
  json->Int(pair.finding.rank);
  if (!pair.status.ok()) {
    text("error", pair.status.message());
  } else {
    text("mode", pair.mode);
    text("cause", precision::CauseText(cause.kind));
    text("place", cause.place);
    text("module", cause.module);
    text("detail", pair.finding.detail);
    text("source", pair.finding.source);
    json->Key("evidence");
    json->BeginArray();
    for (const std::string& line : cause.evidence) json->String(line);
    json->EndArray();
    json->Key("values");
    json->Uint(cause.values);
    json->Key("equal");
    json->Uint(cause.exact);
    json->Key("not_compared");
    json->Uint(cause.unreadable);
    json->Key("largest_share");
    json->Double(cause.largest_share);
    json->Key("files");
    json->BeginArray();
    for (const std::string& file : pair.files) json->String(file);
    json->EndArray();
  }
  json->EndObject();
}

void PrintOutcomeJson(const CompareOutcome& outcome) {
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  json.Key("differs");
  json.Bool(outcome.conclusion.differs);
  json.Key("first");
  json.String(outcome.conclusion.line);
  if (outcome.conclusion.differs) {
    json.Key("first_pair");
    json.Uint(outcome.conclusion.first);
  }
  json.Key("further");
  json.BeginArray();
  for (const std::string& line : outcome.conclusion.further) json.String(line);
  json.EndArray();
  json.Key("pairs");
  json.BeginArray();
  for (const PairOutcome& pair : outcome.pairs) WritePairJson(pair, &json);
  json.EndArray();
  json.EndObject();
  PrintJson(json.Take());
}

Result<int> Report(const CompareOutcome& outcome, const ProbeCompareOptions& options) {
  for (const std::string& note : outcome.notes) PrintNotice(note);
  const auto failed =
      static_cast<size_t>(std::count_if(outcome.pairs.begin(), outcome.pairs.end(),
                                        [](const PairOutcome& pair) { return !pair.status.ok(); }));
  std::string text;
  if (options.format == "json") {
    PrintOutcomeJson(outcome);
  } else {
    PrintConclusion(outcome);
    PrintPairs(outcome);
    text = FilesText(outcome);
    PrintText(text);
  }
  if (failed > 0) {
    return base::FailedPreconditionError(Concat(std::to_string(failed), " of ",
                                                base::CountOf(outcome.pairs.size(), "pair"),
                                                " could not be compared, see above"));
  }
  if (options.fail_if.empty() || !outcome.conclusion.differs) return kExitOk;
  PrintError(Concat("first_difference: ", outcome.conclusion.line));
  return kExitFirstDifference;
}

// "0, 2" -> {0, 2}; nullopt for anything else.
std::optional<std::vector<int64_t>> ParseList(const std::string& text) {
  std::vector<int64_t> out;
  if (text.empty()) return out;
  for (const std::string_view part : base::Split(text, ',')) {
    const auto number = base::ParseInt64(base::Trim(part));
    if (!number || *number < 0) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

// A comparison whose tables are written, but lack what could not be read, has not succeeded.
Result<int> UnreadableEnd(uint64_t rows, const std::string& first) {
  if (rows == 0) return kExitOk;
  return base::CorruptDataError(Concat("the table has no numbers in ", base::CountOf(rows, "row"),
                                       " whose tensors could not be read, the first: ", first,
                                       " (dump again, or give both runs' whole folders)"));
}

// MindSpore's kernels, which lie under folders of their own.
Result<int> CompareKernelDumps(const Context& context, const ProbeCompareOptions& options) {
  const auto ranks = ParseList(options.ranks);
  const auto steps = ParseList(options.steps);
  if (!ranks || !steps) return WrongUsage(context, "--rank and --step are lists such as 0,1");
  const precision::CompareOptions& compare = options.compare;
  if (!base::IsDirectory(compare.target_path) || !base::IsDirectory(compare.golden_path)) {
    return base::InvalidArgumentError(
        "--rank and --step compare MindSpore's kernels: -tp and -gp must be folders");
  }
  SONDE_ASSIGN_OR_RETURN(
      const precision::KernelOutcome outcome,
      precision::CompareKernels({compare.target_path, compare.golden_path, compare.output_path,
                                 *ranks, *steps, compare.xlsx}));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  uint64_t unreadable = 0;
  std::string first_unreadable;
  for (const precision::KernelOutcome::Table& table : outcome.tables) {
    std::string text =
        Concat("rank ", std::to_string(table.rank), " step ", std::to_string(table.step),
               "\n  kernels    ", std::to_string(table.rows), ": ", std::to_string(table.accurate),
               " accurate, ", std::to_string(table.inaccurate), " not\n");
    if (!table.first_bad.empty()) text += Concat("  first bad  ", table.first_bad, "\n");
    unreadable += table.unreadable;
    if (first_unreadable.empty()) first_unreadable = table.first_unreadable;
    text += Concat("  written    ", table.file, "\n");
    PrintText(text);
  }
  return UnreadableEnd(unreadable, first_unreadable);
}

Result<int> CompareAtbDumps(const ProbeCompareOptions& options) {
  const precision::CompareOptions& compare = options.compare;
  SONDE_ASSIGN_OR_RETURN(
      const precision::AtbOutcome outcome,
      precision::CompareAtb({compare.target_path, compare.golden_path, compare.output_path}));
  std::string text = Concat("mode       ", outcome.tensors ? "tensor" : "statistics",
                            "\nrows       ", std::to_string(outcome.rows), ", ",
                            std::to_string(outcome.target_only), " more only in the target, ",
                            std::to_string(outcome.golden_only), " only in the golden dump\n");
  text += Concat("written    ", outcome.file, "\n");
  PrintText(text);
  return UnreadableEnd(outcome.unreadable, outcome.first_unreadable);
}

// Modes that call CANN's own tools on the machine with the device.
Result<int> RefuseMode(const Context& context, const std::string& mode) {
  if (mode == "offline_data" || mode == "offline_model" || mode == "torchair") {
    return base::UnimplementedError(
        Concat("mode ", mode,
               " needs CANN's own tools to read or run offline models: use msprobe "
               "on the machine that has them"));
  }
  return WrongUsage(context, Concat("--mode ", mode,
                                    " is unknown; modes: auto, atb, offline_data, offline_model, "
                                    "torchair"));
}

// A compiled graph against a run that was not compiled: both under the names of the latter.
Status JoinWithKernels(precision::CompareOptions* compare) {
  if (compare->mapping.any() || compare->fuzzy_match) {
    return base::InvalidArgumentError(
        "kernels of a graph are joined with the calls by their values; leave -fm, -cm, -am, -dm "
        "and -lm out");
  }
  SONDE_ASSIGN_OR_RETURN(
      const precision::KernelSides sides,
      precision::JoinKernelSides(compare->target_path, compare->golden_path, compare->output_path));
  for (const std::string& note : sides.notes) PrintNotice(note);
  compare->target_path = sides.target;
  compare->golden_path = sides.golden;
  return Status::Ok();
}

Result<int> Compare(const Context& context, ProbeCompareOptions options) {
  if (options.mode != "auto" && options.mode != "atb") return RefuseMode(context, options.mode);
  if (!options.input.empty()) {
    std::vector<std::string> notes;
    SONDE_RETURN_IF_ERROR(precision::ReadCompareInput(options.input, &options.compare, &notes));
    for (const std::string& note : notes) PrintNotice(note);
  } else if (options.compare.target_path.empty() || options.compare.golden_path.empty()) {
    return WrongUsage(context, "give -tp and -gp, or -i with a JSON file that names both");
  }
  if (options.mode == "atb") return CompareAtbDumps(options);
  const std::string& target = options.compare.target_path;
  const std::string& golden = options.compare.golden_path;
  if (options.ranks.empty() && options.steps.empty()) {
    SONDE_ASSIGN_OR_RETURN(const bool checkpoints, AreCheckpoints(target, golden));
    if (checkpoints) {
      return CompareCheckpointFiles({.target_path = target,
                                     .golden_path = golden,
                                     .output_path = options.compare.output_path});
    }
  }
  const bool names_kernels = !options.ranks.empty() || !options.steps.empty();
  const bool target_is_kernels = precision::HoldsKernelsOnly(target);
  const bool golden_is_kernels = precision::HoldsKernelsOnly(golden);
  if (names_kernels || (target_is_kernels && golden_is_kernels)) {
    return CompareKernelDumps(context, options);
  }
  if (target_is_kernels || golden_is_kernels) {
    SONDE_RETURN_IF_ERROR(JoinWithKernels(&options.compare));
  }
  if (options.consistent) {
    if (options.backend.empty()) {
      return WrongUsage(context, "--consistent_check needs --backend fsdp or --backend megatron");
    }
    options.compare.engine = options.backend == "fsdp" ? Engine::kFsdp : Engine::kMegatron;
  }
  const bool other_summary = options.consistent || options.compare.reference_summary;
  if (other_summary && (!options.fail_if.empty() || options.format == "json")) {
    return WrongUsage(context,
                      "--fail-if and --format json need the first cause: leave --reference-summary "
                      "and --consistent_check out");
  }
  SONDE_ASSIGN_OR_RETURN(const CompareOutcome outcome, precision::RunCompare(options.compare));
  return Report(outcome, options);
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

void AddMatching(CLI::App& app, ProbeCompareOptions* options) {
  app.add_flag("--fm,--fuzzy_match", options->compare.fuzzy_match,
               "Match names without their call numbers, in order")
      ->group("Matching");
  AddMapping(app, "--cm,--cell_mapping", options->compare.mapping.cells,
             "Map MindSpore cells to PyTorch modules");
  AddMapping(app, "--am,--api_mapping", options->compare.mapping.apis,
             "Map MindSpore APIs to PyTorch APIs");
  AddMapping(app, "--lm,--layer_mapping", options->compare.mapping.layers,
             "Map layers by their place in the module tree");
  app.add_flag("--consistent_check", options->consistent,
               "The target is a training engine, the golden run its inference engine")
      ->group("Matching");
  app.add_option("--backend", options->backend, "The training engine: fsdp or megatron")
      ->check(CLI::IsMember({"fsdp", "megatron"}))
      ->group("Matching");
  app.add_option("--dm,--data_mapping", options->compare.mapping.data,
                 "Map single parameters, a YAML file")
      ->group("Matching");
}

CommandAction DeclareProbeCompare(CLI::App& app) {
  auto options = std::make_shared<ProbeCompareOptions>();
  precision::CompareOptions& compare = options->compare;
  app.add_option("--tp,--target_path", compare.target_path,
                 "The run under test: dump.json, a rank, step or dump folder; or a checkpoint");
  app.add_option("--gp,--golden_path", compare.golden_path, "The reference run");
  app.add_option("-i,--input_path", options->input,
                 "JSON file with npu_path, bench_path and stack_path, instead of -tp and -gp");
  app.add_option("-o,--output_path", compare.output_path, "Folder for the results")
      ->capture_default_str();
  app.add_option("-m,--mode", options->mode,
                 "auto: statistics, checksums or tensors by the data; atb: dumps of Ascend's "
                 "transformer library")
      ->capture_default_str();
  app.add_option("--rank", options->ranks,
                 "Compare MindSpore's kernel dumps, of these ranks: 0,1 (folders rank_<N>/...)");
  app.add_option("--step", options->steps, "Compare MindSpore's kernel dumps, of these steps only");
  app.add_flag("--xlsx", compare.xlsx, "Write a coloured workbook instead of csv");
  app.add_flag("--da,--diff_analyze", compare.analyze_difference,
               "Also find the first calls that differ, over all ranks");
  app.add_flag("--reference-summary", compare.reference_summary,
               "Report the first row that fails msProbe's thresholds, instead of the first cause");
  app.add_option("--config", compare.calibration_path,
                 "Calibration matrices for tensors, a YAML file");
  app.add_option("--metric", compare.metric_paths,
                 "User metric for tensors: a shared library; may be repeated");
  app.add_option("--sql-metric", compare.sql_metrics,
                 "User metric as SQL over a row: name=expression; may be repeated");
  app.add_option("--format", options->format, "What is printed: table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--fail-if", options->fail_if,
                 "first_difference: exit with status 3 where more than rounding differs")
      ->check(CLI::IsMember({"first_difference"}));
  app.add_flag("--store", compare.store, "Also write a store for sonde view and sonde query");
  app.add_flag("--tensor_log,--is_print_compare_log", compare.log_tensors,
               "Print one line for each tensor");
  AddMatching(app, options.get());
  return [options](const Context& context) { return Compare(context, *options); };
}

}  // namespace

Command ProbeCompareCommand() {
  return {.name = "compare",
          .summary = "Compare two dumps (statistics, checksums, tensors) or two checkpoints",
          .example = kProbeCompareExample,
          .declare = &DeclareProbeCompare};
}

}  // namespace sonde::cli
