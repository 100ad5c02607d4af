// `sonde probe graph`: the call graph of a dump, or of two dumps compared, as a database.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/count_of.h"
#include "base/strings.h"
#include "cli/command.h"
#include "precision/graph_job.h"
#include "precision/kernels/kernel_sides.h"

namespace sonde::cli {
namespace {

using base::Concat;
using precision::GraphOptions;
using precision::GraphOutcome;

constexpr std::string_view kProbeGraphExample =
    "sonde probe graph -tp npu/step0/rank0 -o result -oc        # one graph, overflow levels\n"
    "sonde probe graph -tp npu -gp gpu -o result                # all steps and ranks compared\n"
    "tensorboard --logdir result                                # opens it";

void PrintProgress(int percent) {
  PrintText(Concat("PROGRESS: {\"current_progress\": ", std::to_string(percent),
                   ", \"process_running\": ", percent < 100 ? "true" : "false",
                   ", \"error_msg\": []}\n"));
  std::fflush(stdout);
}

// Empty text: the options fit together.
std::string ChooseForm(const std::string& file_type, GraphOptions* options) {
  options->as_dump = file_type == "json";
  if (!options->as_dump) return {};
  if (!options->golden_path.empty()) {
    return "--file_type json writes merged ranks of one run; leave -gp out";
  }
  if (options->target_layout.rank_size == 0) {
    PrintNotice("--file_type json is for merged ranks (--rank_size); a database is written");
    options->as_dump = false;
  }
  return {};
}

// One value for each side, the target first.
struct Layouts {
  std::vector<int64_t> rank_size;
  std::vector<int64_t> tensor;
  std::vector<int64_t> pipeline;
  std::vector<int64_t> virtual_pipeline;
  std::vector<std::string> order;
};

// `-tp FOLDER` is the run, `--tp NUMBER` a size, as with msProbe; a name of digits is a size.
void DivideTp(const std::vector<std::string>& values, Layouts* layouts, GraphOptions* options) {
  for (const std::string& value : values) {
    if (const auto size = base::ParseInt64(value)) {
      layouts->tensor.push_back(*size);
    } else {
      options->target_path = value;
    }
  }
}

// Empty text: `layouts` were taken over.
std::string TakeLayouts(const Layouts& layouts, GraphOptions* options) {
  const bool any = !layouts.tensor.empty() || !layouts.pipeline.empty() ||
                   !layouts.virtual_pipeline.empty() || !layouts.order.empty();
  if (layouts.rank_size.empty() && !any) return {};
  const size_t sides = options->golden_path.empty() ? 1 : 2;
  if (layouts.rank_size.size() != sides || layouts.tensor.size() != sides ||
      layouts.pipeline.size() != sides) {
    return Concat("merging ranks needs --rank_size, --tp and --pp with ",
                  base::CountOf(sides, "value each", "values each, the target's first"));
  }
  precision::ParallelLayout* const sides_of[] = {&options->target_layout, &options->golden_layout};
  for (size_t i = 0; i < sides; ++i) {
    if (layouts.rank_size[i] < 1) return "--rank_size must be positive";
    sides_of[i]->rank_size = layouts.rank_size[i];
    sides_of[i]->tensor = layouts.tensor[i];
    sides_of[i]->pipeline = layouts.pipeline[i];
    // One value counts for both sides.
    const auto pick = [i](const auto& values) { return values[std::min(i, values.size() - 1)]; };
    if (!layouts.virtual_pipeline.empty()) {
      sides_of[i]->virtual_pipeline = pick(layouts.virtual_pipeline);
    }
    if (!layouts.order.empty()) sides_of[i]->order = pick(layouts.order);
  }
  return {};
}

void DeclareLayouts(CLI::App& app, Layouts* layouts) {
  const auto add = [&app](const char* name, auto& values, const char* help) {
    app.add_option(name, values, help)->expected(1, 2)->group("Merging parallel ranks");
  };
  add("--rank_size", layouts->rank_size, "Number of ranks; two values when graphs are compared");
  add("--pp", layouts->pipeline, "Stages of the pipeline");
  add("--vpp", layouts->virtual_pipeline, "Chunks per stage (default 1)");
  add("--order", layouts->order, "Order of the dimensions (default tp-cp-ep-dp-pp)");
}

Result<int> BuildGraph(GraphOptions options) {
  SONDE_ASSIGN_OR_RETURN(
      precision::KernelSides sides,
      precision::ReadKernelSides(options.target_path, options.golden_path, options.output_path));
  for (const std::string& note : sides.notes) PrintNotice(note);
  options.target_path = std::move(sides.target);
  options.golden_path = std::move(sides.golden);
  SONDE_ASSIGN_OR_RETURN(const GraphOutcome outcome, precision::RunGraph(options));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  for (const std::string& line : outcome.log) PrintText(line + "\n");
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
  if (!outcome.file.empty()) text += Concat("\nwritten    ", outcome.file);
  for (const std::string& dump : outcome.dumps) text += Concat("\nwritten    ", dump);
  text += '\n';
  if (!outcome.store.empty()) text += Concat("           ", outcome.store, "\n");
  PrintText(text);
  return kExitOk;
}

CommandAction DeclareProbeGraph(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  auto progress = std::make_shared<bool>(false);
  auto layouts = std::make_shared<Layouts>();
  auto file_type = std::make_shared<std::string>("db");
  auto tp = std::make_shared<std::vector<std::string>>();
  app.add_option("--target_path", options->target_path,
                 "Folder of the run: a rank, a step with ranks, or a dump with steps");
  app.add_option("--tp", *tp, "-tp FOLDER: the same; --tp NUMBER: ranks that share a tensor")
      ->expected(1, 4)
      ->type_name("FOLDER|N");
  app.add_option("--gp,--golden_path", options->golden_path,
                 "Folder of the reference run (default: build only)");
  app.add_option("-o,--output_path", options->output_path, "Folder for the database")->required();
  app.add_flag("--oc,--overflow_check", options->overflow_check,
               "Mark nodes whose values overflow");
  app.add_flag("--fm,--fuzzy_match", options->fuzzy_match,
               "Match modules by name alone and APIs in order");
  app.add_option_function<std::vector<std::string>>(
         "--lm,--layer_mapping",
         [options](const std::vector<std::string>& files) {
           options->layer_mapping = files.empty() ? std::string() : files.front();
         },
         "Match layers that have other names")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app.add_flag("--store", options->store, "Also write a store for sonde query");
  app.add_flag("--tensor_log,--is_print_compare_log", options->log_tensors,
               "Print one line for each compared tensor");
  app.add_flag("--progress_log,--is_print_progress_log", *progress,
               "Print progress lines for another program");
  DeclareLayouts(app, layouts.get());
  app.add_option("--file_type", *file_type, "Merged ranks as a database or as dumps (json)")
      ->check(CLI::IsMember({"db", "json"}))
      ->group("Merging parallel ranks")
      ->capture_default_str();
  return [options, progress, layouts, tp, file_type](const Context& context) -> Result<int> {
    DivideTp(*tp, layouts.get(), options.get());
    if (options->target_path.empty()) return WrongUsage(context, "-tp FOLDER is missing");
    const std::string wrong = TakeLayouts(*layouts, options.get());
    if (!wrong.empty()) return WrongUsage(context, wrong);
    const std::string unfit = ChooseForm(*file_type, options.get());
    if (!unfit.empty()) return WrongUsage(context, unfit);
    if (options->golden_path.empty() && (options->layer_mapping || options->fuzzy_match)) {
      PrintNotice("-lm and -fm set how two runs are matched: they have no effect without -gp");
    }
    if (*progress) options->progress = &PrintProgress;
    return BuildGraph(*options);
  };
}

}  // namespace

Command ProbeGraphCommand() {
  return {.name = "graph",
          .summary = "Build or compare call graphs for TensorBoard's graph viewer",
          .example = kProbeGraphExample,
          .declare = &DeclareProbeGraph};
}

}  // namespace sonde::cli
