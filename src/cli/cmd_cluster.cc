// `sonde cluster`: analyses over all ranks of a folder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "cli/buckets.h"
#include "cli/cluster_options.h"
#include "cli/cluster_run.h"
#include "cli/command.h"
#include "cli/job_notices.h"
#include "cli/python_task.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/run.h"
#include "cluster/parts/launch.h"
#include "cluster/parts/part_reader.h"
#include "cluster/user_recipes/recipe.h"
#include "cluster/user_recipes/run.h"
#include "job/job.h"

namespace sonde::cli {
namespace {

using base::Concat;

// The requested mode: one of ours, or one for a recipe of the user.
struct Asked {
  const cluster::Mode* mode = nullptr;
  cluster::Mode of_user;
  std::unique_ptr<cluster::UserRecipe> recipe;  // null: a mode of ours
  std::unique_ptr<cluster::UserTable> table;
  std::array<const cluster::TableInfo*, 1> tables{};
};

void ReportOptionsWithoutEffect(const cluster::Mode& mode, const ClusterOptions& options) {
  if (mode.takes_all_steps && options.step_id >= 0) {
    PrintNotice(Concat("--step_id has no effect on the mode ", mode.name));
  }
  for (const auto& [name, value] : options.of_mode) {
    const bool is_own = std::ranges::any_of(
        mode.options, [&](const cluster::ModeOption* option) { return option->name == name; });
    if (is_own || (name == cluster::kKeepClocks.name && mode.needs.waits)) continue;
    PrintNotice(Concat(name, " has no effect on the mode ", mode.name));
  }
}

Status FindRecipe(const ClusterOptions& options, Asked& asked) {
  const std::string folder = ClusterPath(RecipeFolderOf(options.recipe_folder));
  SONDE_ASSIGN_OR_RETURN(auto found, cluster::FindUserRecipes(folder));
  const cluster::UserRecipe* recipe = found.Find(options.mode);
  if (recipe == nullptr) {
    return base::NotFoundError(Concat("'", folder, "' has no recipe '", options.mode, "'"));
  }
  for (const Status& failure : found.failures) PrintNotice(failure.message());
  asked.recipe = std::make_unique<cluster::UserRecipe>(*recipe);
  asked.table = std::make_unique<cluster::UserTable>(recipe->table, recipe->summary);
  asked.tables = {&asked.table->info()};
  asked.of_user = {.name = asked.recipe->name,
                   .folder = asked.recipe->name,
                   .summary = asked.recipe->summary,
                   .tables = asked.tables,
                   .needs = {},
                   .wants = asked.recipe->wants,
                   .map = nullptr,
                   .reduce = nullptr};
  asked.mode = &asked.of_user;
  return {};
}

Result<cluster::RunResult> RunAsked(const Asked& asked, const std::vector<cluster::Rank>& ranks,
                                    const cluster::ModeOptions& mode_options, bool is_quiet) {
  const cluster::RunOptions run = ClusterRunOptions(is_quiet);
  if (asked.recipe == nullptr) return cluster::Run(*asked.mode, ranks, mode_options, run);
  return cluster::RunUserRecipe(*asked.recipe, ranks, mode_options, run, *asked.table);
}

Result<cluster::Place> PlaceOf(const ClusterOptions& options) {
  if (options.is_alone) return cluster::Place();
  if (!options.share.empty()) return cluster::ParsePlace(options.share);
  return cluster::PlaceOfEnvironment();
}

std::string PartsFolder(const ClusterOptions& options) {
  if (!options.parts_folder.empty()) return ClusterPath(options.parts_folder);
  const std::string& folder = options.output.empty() ? options.path : options.output;
  return base::JoinPath(ClusterPath(folder), "cluster_parts");
}

// How ranks are read; null: by this process, without parts.
Result<std::unique_ptr<cluster::PartReader>> ReaderOf(const ClusterOptions& options,
                                                      const cluster::Place& place) {
  const std::string folder = PartsFolder(options);
  const bool has_parts = place.is_shared() || options.lists_tasks ||
                         !options.parts_folder.empty() || base::IsDirectory(folder);
  if (!has_parts) return std::unique_ptr<cluster::PartReader>();
  if (place.is_shared() && place.number == 0) {
    PrintNotice(Concat("process 0 of ", std::to_string(place.count), ", as ", place.given_by,
                       " states: each has a share of the ranks, and this one makes up what is "
                       "missing (--alone: this one does all)"));
  }
  return cluster::PartReader::Open(
      {.folder = folder,
       .share = place,
       .missing = options.lists_tasks ? cluster::Missing::kList : cluster::Missing::kMake,
       .run = ClusterRunOptions(/*is_quiet=*/true)});
}

// Of one of several processes that is not the first: a failure is not the end of the job, since the
// first makes up what is missing.
Result<int> DoShare(const ClusterOptions& options, const cluster::Place& place) {
  const cluster::Mode* mode = cluster::FindMode(options.mode);
  if (mode == nullptr) return kExitOk;  // a recipe, which process 0 does
  const auto share = [&]() -> Status {
    SONDE_ASSIGN_OR_RETURN(const auto reader, ReaderOf(options, place));
    SONDE_ASSIGN_OR_RETURN(const auto wanted, ParseRankList(options.rank_list));
    SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice,
                           reader->Choose(ClusterPath(options.path), wanted));
    SONDE_ASSIGN_OR_RETURN(const auto mode_options,
                           ModeOptionsOf(options, ClusterResultFolder(options)));
    return reader->MapShare(*mode, choice.ranks, mode_options);
  };
  const Status done = share();
  if (!done.ok()) {
    PrintError(Concat("process ", std::to_string(place.number), " of ", std::to_string(place.count),
                      ": ", done.message(), "; its share is left to process 0"));
  }
  return kExitOk;
}

Result<cluster::RankChoice> Choose(const std::string& path, const std::vector<int32_t>& wanted,
                                   cluster::RankReader* reader) {
  if (reader != nullptr) return reader->Choose(path, wanted);
  SONDE_ASSIGN_OR_RETURN(
      const job::Job found,
      job::FindWholeJob({path}, {.max_depth = cluster::kFolderDepth, .allow = {}}));
  return cluster::ChooseRanks(found, wanted);
}

Result<std::unique_ptr<cluster::PartReader>> ReaderFor(const Asked& asked,
                                                       const ClusterOptions& options,
                                                       const cluster::Place& place) {
  if (asked.recipe == nullptr) return ReaderOf(options, place);
  if (place.is_shared() || options.lists_tasks) {
    PrintNotice(Concat("'", asked.recipe->name, "' is a recipe of yours: one process does it"));
  }
  return std::unique_ptr<cluster::PartReader>();
}

// `reader`: stays for who wants its tasks.
Result<ClusterDone> Analyse(const ClusterOptions& options, const cluster::Place& place,
                            Asked& asked, std::unique_ptr<cluster::PartReader>& reader) {
  asked.mode = cluster::FindMode(options.mode);
  if (asked.mode == nullptr) SONDE_RETURN_IF_ERROR(FindRecipe(options, asked));
  const cluster::Mode& mode = *asked.mode;
  SONDE_ASSIGN_OR_RETURN(const auto wanted, ParseRankList(options.rank_list));
  const std::string path = ClusterPath(options.path);
  if (!base::IsDirectory(path)) {
    return base::NotFoundError(Concat("'", path, "' is no folder"));
  }
  const std::string folder = ClusterResultFolder(options);
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(folder).Annotate(
      "results cannot be written, name another folder with -o"));
  SONDE_ASSIGN_OR_RETURN(reader, ReaderFor(asked, options, place));
  SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice, Choose(path, wanted, reader.get()));
  const auto report = [&] {
    ReportOptionsWithoutEffect(mode, options);
    for (const std::string& notice : choice.notices) PrintNotice(notice);
  };
  if (!options.lists_tasks) report();
  ClusterDone done;
  SONDE_ASSIGN_OR_RETURN(auto mode_options, ModeOptionsOf(options, folder));
  mode_options.reader.value = reader.get();
  auto result = RunAsked(asked, choice.ranks, mode_options, options.agent);
  if (reader != nullptr && !reader->tasks().empty()) {
    return base::UnavailableError("parts are missing");
  }
  if (options.lists_tasks) {  // once, by the call that has all parts
    report();
    if (reader != nullptr) reader->SayHeld();
  }
  if (!result.ok()) return result.status();
  done.result = *std::move(result);
  SONDE_RETURN_IF_ERROR(WriteOutcome(options, mode, folder, done));
  return done;
}

void WriteWords(std::string_view key, const std::vector<std::string>& texts,
                base::JsonWriter& json) {
  json.Key(key);
  json.BeginArray();
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

// The words of the command that makes the part: in a folder that stands behind them, and with what
// it reads in a folder for which "{files}" stands.
void PrintTask(const ClusterOptions& options, const cluster::PartTask& task) {
  const std::string output = options.output.empty() ? options.path : options.output;
  std::vector<std::string> words = {"cluster",   "map",
                                    "-m",        task.mode,
                                    "--program", cluster::ProgramOfThis(),
                                    "--name",    task.pack.name,
                                    "--root",    base::AbsolutePath(ClusterPath(options.path)),
                                    "--results", base::AbsolutePath(ClusterPath(output))};
  const auto of_mode = WordsOfModeOptions(options, /*of_map=*/true);
  words.insert(words.end(), of_mode.begin(), of_mode.end());
  std::vector<std::string> files;
  if (!task.waits.empty()) {
    files.push_back(task.waits);
    words.insert(words.end(), {"--waits", Concat("{files}/", base::BaseName(task.waits))});
  }
  std::vector<std::string> sources;
  std::vector<std::string> numbers;
  for (const cluster::Rank& rank : task.pack.ranks) {
    sources.push_back(base::AbsolutePath(rank.trace.source.path));
    numbers.push_back(Concat(std::to_string(rank.number), "/", std::to_string(rank.trace.run), "/",
                             std::to_string(rank.trace.number)));
  }
  base::JsonWriter json(nullptr);
  json.BeginObject();
  WriteWords("words", words, json);
  WriteWords("sources", sources, json);
  WriteWords("numbers", numbers, json);
  WriteWords("files", files, json);
  json.EndObject();
  PrintJson(json.Take());
}

// By python/sonde/engine, which asks this command for tasks until there are none.
Result<int> RunOnEngine(const Context& context, const ClusterOptions& options) {
  if (cluster::FindMode(options.mode) == nullptr) {
    return base::InvalidArgumentError(Concat(
        "'", options.mode, "' is a recipe of yours: it runs in one process, without --engine"));
  }
  const char* python = std::getenv("SONDE_ENGINE_PYTHON");
  PythonTask task{
      .python = python == nullptr || *python == '\0' ? "python3" : python,
      .module = "sonde.engine",
      .words = {options.engine, std::to_string(options.engine_memory), context.layout.binary},
      .has_report = false};
  const auto words = WordsOfCluster(options, PartsFolder(options));
  task.words.insert(task.words.end(), words.begin(), words.end());
  SONDE_ASSIGN_OR_RETURN(const PythonResult result, RunPythonTask(context, task));
  return result.exit_status;
}

Result<int> Cluster(const Context& context, const ClusterOptions& options) {
  constexpr int kExitTasks = 3;
  if (!options.engine.empty()) return RunOnEngine(context, options);
  SONDE_ASSIGN_OR_RETURN(const cluster::Place place, PlaceOf(options));
  if (place.number > 0) return DoShare(options, place);
  Asked asked;  // results refer to it
  std::unique_ptr<cluster::PartReader> reader;
  const Result<ClusterDone> done = Analyse(options, place, asked, reader);
  if (reader != nullptr && !reader->tasks().empty()) {
    for (const cluster::PartTask& task : reader->tasks()) PrintTask(options, task);
    return kExitTasks;
  }
  return PrintOutcome(options, done);
}

CommandAction DeclareCluster(CLI::App& app) {
  auto options = std::make_shared<ClusterOptions>();
  AddClusterOptions(app, *options);
  return [options](const Context& context) -> Result<int> {
    ClusterOptions own = *options;
    if (IsBucket(own.path) && own.output.empty()) {
      return WrongUsage(context, "-d names a bucket: -o must say where results go");
    }
    BucketPaths paths(context);
    SONDE_RETURN_IF_ERROR(paths.Read(own.path));
    for (std::string* path : PathsOfModeOptions(own)) SONDE_RETURN_IF_ERROR(paths.Read(*path));
    SONDE_RETURN_IF_ERROR(paths.Write(own.output, /*goes_on=*/false));
    SONDE_RETURN_IF_ERROR(paths.Write(own.parts_folder, /*goes_on=*/true));
    Result<int> done = Cluster(context, own);
    if (done.ok()) SONDE_RETURN_IF_ERROR(paths.Put());
    return done;
  };
}

}  // namespace

Command ClusterCommand() {
  return {.name = "cluster",
          .summary = "Compare all ranks of a job: time, communication, slow ranks and links",
          .example =
              "sonde cluster -d ./profile\n"
              "sonde cluster -m hccl_sum -d ./profile -o ./out --export_type notebook",
          .declare = &DeclareCluster};
}

}  // namespace sonde::cli
