#include "cli/cluster_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/strings.h"
#include "cli/number_checks.h"
#include "cluster/frame/mode.h"
#include "cluster/user_recipes/recipe.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kSteps =
    "\nThe steps by themselves, for work on other machines: 'sonde cluster map', 'shuffle' and "
    "'reduce'\n(--help). A folder of such a name is given by -d.\n";

// A line each: lists in the text of an option are broken as one text.
std::string ListOfModes() {
  size_t width = 0;
  for (const cluster::Mode* mode : cluster::Modes()) width = std::max(width, mode->name.size());
  std::string text = "\nModes:";
  for (const cluster::Mode* mode : cluster::Modes()) {
    const std::string gap(width + 2 - mode->name.size(), ' ');
    text += Concat("\n  ", mode->name, gap, mode->summary);
  }
  return text;
}

std::vector<std::string> ModeNames() {
  std::vector<std::string> names;
  for (const cluster::Mode* mode : cluster::Modes()) names.emplace_back(mode->name);
  return names;
}

// Where recipes are, also before options have got their values; "": nowhere.
std::string RecipeFolder(const CLI::Option& option) {
  return option.count() > 0 ? option.results().back() : RecipeFolderOf("");
}

// Nothing, or what is wrong with the name.
std::string CheckMode(const std::string& name, const CLI::Option& recipes) {
  std::vector<std::string> names = ModeNames();
  const std::string folder = RecipeFolder(recipes);
  if (!folder.empty()) {
    const auto found = cluster::FindUserRecipes(ClusterPath(folder));
    if (!found.ok()) return std::string(found.status().message());
    for (const cluster::UserRecipe& recipe : found->recipes) names.push_back(recipe.name);
    for (const Status& failure : found->failures) {
      const bool is_it = failure.message().find(Concat("/", name, "/")) != std::string::npos ||
                         failure.message().find(Concat("/", name, ":")) != std::string::npos;
      if (is_it) return std::string(failure.message());
    }
  }
  return CLI::IsMember(names)(name);
}

// For --help.
std::string ListOfRecipes(const CLI::Option& recipes) {
  const std::string folder = RecipeFolder(recipes);
  if (folder.empty()) return {};
  const auto found = cluster::FindUserRecipes(ClusterPath(folder));
  if (!found.ok()) return Concat("\nRecipes: ", found.status().message());
  std::string text = Concat("\nRecipes of ", folder, ":");
  for (const cluster::UserRecipe& recipe : found->recipes) {
    text += Concat("\n  ", recipe.name, ": ", recipe.summary);
  }
  for (const Status& failure : found->failures) {
    text += Concat("\n  not usable: ", failure.message());
  }
  return text;
}

// An option that some modes declare.
struct DeclaredOption {
  const cluster::ModeOption* option = nullptr;
  std::vector<std::string> modes;  // "hccl_sum 15": with the usual value
};

// By name, in the order of the modes.
std::vector<DeclaredOption> DeclaredOptions() {
  std::vector<DeclaredOption> all;
  for (const cluster::Mode* mode : cluster::Modes()) {
    for (const cluster::ModeOption* option : mode->options) {
      auto found = std::ranges::find_if(
          all, [&](const DeclaredOption& one) { return one.option->name == option->name; });
      if (found == all.end()) found = all.insert(all.end(), {.option = option, .modes = {}});
      const bool is_shown = !option->usual.empty();
      found->modes.push_back(Concat(mode->name, is_shown ? " " : "", option->usual));
    }
  }
  return all;
}

void AddModeOption(CLI::App& app, const DeclaredOption& declared, ClusterOptions& options) {
  constexpr const char* kTypes[] = {"", "TEXT", "TEXT", "INT", "FLOAT"};
  const cluster::ModeOption& option = *declared.option;
  const std::string name(option.name);
  const std::string help = Concat(option.help, " (", base::Join(declared.modes, ", "), ")");
  if (option.kind == cluster::OptionKind::kFlag) {
    app.add_flag_callback(name, [&options, name] { options.of_mode[name] = ""; }, help);
    return;
  }
  const auto take = [&options, &option, name](const std::string& text) {
    const bool is_path = option.kind == cluster::OptionKind::kPath;
    options.of_mode[name] = is_path ? ClusterPath(text) : text;
  };
  CLI::Option* added = app.add_option_function<std::string>(name, take, help);
  added->type_name(kTypes[static_cast<size_t>(option.kind)]);
  const bool is_number =
      option.kind == cluster::OptionKind::kInt || option.kind == cluster::OptionKind::kReal;
  if (!is_number) return;
  added->check([&option](const std::string& text) {
    return std::string(cluster::CheckValue(option, text).message());
  });
}

void AddModeOptions(CLI::App& app, ClusterOptions& options) {
  for (const DeclaredOption& one : DeclaredOptions()) AddModeOption(app, one, options);
}

void AddShare(CLI::App& app, ClusterOptions& options) {
  app.add_option("--part", options.share,
                 "Do the I-th of N shares, counted from 0: of a job array, or of a process that "
                 "mpirun or srun started, which know theirs")
      ->option_text("I/N");
}

// Options of several processes that share the work.
void AddProcessOptions(CLI::App& app, ClusterOptions& options) {
  AddShare(app, options);
  app.add_option("--parts", options.parts_folder,
                 "Folder for what is kept of each rank, which all processes see; what lies there "
                 "is not done again")
      ->option_text("DIR (default: cluster_parts in the folder of -o, of several processes)");
  app.add_flag("--alone", options.is_alone,
               "Do everything in this process, even if mpirun or srun started several");
  app.add_option("--engine", options.engine,
                 "Map the ranks on the workers of an engine: ray, dask, or the address of its "
                 "cluster, as ray://HOST:10001 or tcp://HOST:8786")
      ->option_text("ENGINE");
  app.add_option("--engine-memory", options.engine_memory,
                 "Memory that a task of the engine may take, as 2GB")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("BYTES (default: no limit)");
  app.add_flag("--list-tasks", options.lists_tasks,
               "Map nothing: print a line of JSON for each part that is missing, and end with "
               "status 3; for programs that run 'sonde cluster map' elsewhere");
}

void AddMode(CLI::App& app, ClusterOptions& options) {
  const CLI::Option* recipes =
      app.add_option("--recipe-dir", options.recipe_folder,
                     "Folder of user recipes, each one more mode: docs/cluster.md")
          ->option_text("DIR (default: $SONDE_RECIPE_DIR)");
  app.add_option("-m,--mode", options.mode, "Analysis, one of the list below")
      ->check([recipes](const std::string& name) { return CheckMode(name, *recipes); })
      ->option_text("MODE (default: all)");
  app.footer([recipes] { return ListOfModes() + ListOfRecipes(*recipes) + std::string(kSteps); });
}

// Of a step: modes of ours.
void AddModeOfStep(CLI::App& app, ClusterOptions& options) {
  app.add_option("-m,--mode", options.mode, "Analysis, as 'sonde cluster --help' lists them")
      ->option_text("MODE (default: all)");
}

void AddSteps(CLI::App& app, ClusterOptions& options) {
  app.add_option("--rank_list", options.rank_list, "Ranks to analyse, as 0,1,2 (default: all)");
  app.add_option("--step_id", options.step_id, "Step to analyse (default: all)");
}

void AddForm(CLI::App& app, ClusterOptions& options) {
  app.add_option("--export_type", options.export_type,
                 "Form of the results (default db; of the modes all, communication_time and "
                 "communication_matrix that of the input). notebook is an HTML report with charts")
      ->check(CLI::IsMember({"db", "text", "excel", "notebook"}));
}

}  // namespace

void AddClusterOptions(CLI::App& app, ClusterOptions& options) {
  app.add_option("-d,--profiling_path,PATH", options.path,
                 "Folder with the recordings of all ranks")
      ->required();
  AddMode(app, options);
  app.add_option("-o,--output_path", options.output,
                 "Results go to DIR/cluster_analysis_output (default: the folder of -d)");
  AddForm(app, options);
  AddSteps(app, options);
  app.add_option("--parallel_mode", options.parallel_mode,
                 "Accepted; ranks are always read in parallel")
      ->check(CLI::IsMember({"concurrent"}));
  app.add_flag("--force", options.force, "Accepted; owners and sizes of files are not checked");
  app.add_flag("--agent", options.agent, "Print one line of JSON, for programs");
  AddProcessOptions(app, options);
  AddModeOptions(app, options);
}

void AddMapOptions(CLI::App& app, ClusterStepOptions& options) {
  app.add_option("SOURCE", options.sources, "Recordings of ranks, and folders with them")
      ->required();
  AddModeOfStep(app, options.cluster);
  app.add_option("-o,--output_path", options.cluster.output, "Folder for the parts")->required();
  AddSteps(app, options.cluster);
  AddShare(app, options.cluster);
  app.add_option("--waits", options.waits,
                 "What 'sonde cluster shuffle' wrote: finish the ranks that needed it")
      ->option_text("FILE");
  app.add_option("--results", options.results,
                 "Folder of the results, of modes that write files of each rank (filter_db, "
                 "export_summary)");
  app.add_option("--root", options.cluster.path,
                 "Folder below which filter_db keeps the places of ranks (default: the SOURCE)");
  app.add_option("--numbers", options.numbers,
                 "Numbers of each SOURCE as --list-tasks prints them; all become one part")
      ->option_text("RANK/RUN/TRACE ...");
  app.add_option("--name", options.part_name, "Name of that part, as --list-tasks prints it")
      ->option_text("FILE");
  app.add_option("--program", options.program,
                 "Refuse where this program is another one than that which printed the task");
  AddModeOptions(app, options.cluster);
}

void AddShuffleOptions(CLI::App& app, ClusterStepOptions& options) {
  app.add_option("PARTS", options.sources, "All parts of a job, and folders with them")->required();
  AddModeOfStep(app, options.cluster);
  app.add_option("-o,--output_path", options.cluster.output, "Folder for the waits")->required();
  AddModeOptions(app, options.cluster);
}

void AddReduceOptions(CLI::App& app, ClusterStepOptions& options) {
  app.add_option("PARTS", options.sources, "Parts of all ranks, and folders with them")->required();
  AddModeOfStep(app, options.cluster);
  app.add_option("-o,--output_path", options.cluster.output,
                 "Results go to DIR/cluster_analysis_output")
      ->required();
  AddForm(app, options.cluster);
  AddSteps(app, options.cluster);
  app.add_flag("--agent", options.cluster.agent, "Print one line of JSON, for programs");
  AddModeOptions(app, options.cluster);
}

std::vector<std::string> WordsOfCluster(const ClusterOptions& options, const std::string& parts) {
  std::vector<std::string> words = {"cluster",    "-d",          options.path,      "-m",
                                    options.mode, "--rank_list", options.rank_list, "--parts",
                                    parts};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("-o", options.output);
  add("--export_type", options.export_type);
  if (options.agent) words.emplace_back("--agent");
  const auto of_mode = WordsOfModeOptions(options, /*of_map=*/false);
  words.insert(words.end(), of_mode.begin(), of_mode.end());
  return words;
}

std::vector<std::string> WordsOfModeOptions(const ClusterOptions& options, bool of_map) {
  std::vector<std::string> words;
  if (options.step_id >= 0) {
    words.insert(words.end(), {"--step_id", std::to_string(options.step_id)});
  }
  for (const DeclaredOption& declared : DeclaredOptions()) {
    const cluster::ModeOption& option = *declared.option;
    if (!cluster::IsGiven(options.of_mode, option) || (of_map && option.is_of_reduce)) continue;
    words.emplace_back(option.name);
    if (option.kind == cluster::OptionKind::kFlag) continue;
    words.push_back(cluster::TextOf(options.of_mode, option));
  }
  return words;
}

std::vector<std::string*> PathsOfModeOptions(ClusterOptions& options) {
  std::vector<std::string*> paths;
  for (const DeclaredOption& declared : DeclaredOptions()) {
    const auto given = options.of_mode.find(std::string(declared.option->name));
    const bool is_path = declared.option->kind == cluster::OptionKind::kPath;
    if (is_path && given != options.of_mode.end()) paths.push_back(&given->second);
  }
  return paths;
}

Result<std::vector<int32_t>> ParseRankList(const std::string& text) {
  std::vector<int32_t> ranks;
  if (text == "all") return ranks;
  for (const std::string_view part : base::Split(text, ',')) {
    const auto rank = base::ParseInt64(base::Trim(part));
    if (!rank || *rank < 0 || *rank > INT32_MAX) {
      return base::InvalidArgumentError(
          Concat("--rank_list must be 'all' or numbers like 0,1,2, not '", text, "'"));
    }
    ranks.push_back(static_cast<int32_t>(*rank));
  }
  return ranks;
}

std::string RecipeFolderOf(const std::string& given) {
  if (!given.empty()) return given;
  const char* of_user = std::getenv("SONDE_RECIPE_DIR");
  return of_user == nullptr ? "" : of_user;
}

std::string ClusterPath(const std::string& text) {
  std::string path = text.starts_with('=') ? text.substr(1) : text;
  const char* home = std::getenv("HOME");
  if (home != nullptr && (path == "~" || path.starts_with("~/"))) path = home + path.substr(1);
  return path;
}

}  // namespace sonde::cli
