// `sonde cluster`: analyses over all ranks of a folder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/cluster_options.h"
#include "cli/command.h"
#include "cli/job_notices.h"
#include "cluster/frame/run.h"
#include "cluster/machines/head.h"
#include "cluster/machines/launch.h"
#include "cluster/machines/share.h"
#include "cluster/output/write.h"
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

struct Done {
  cluster::RunResult result;
  cluster::Written written;
  std::vector<std::string> failures;
};

std::string Sentences(const cluster::Outcome& outcome, std::string_view between) {
  std::vector<std::string> lines;
  for (const recipes::Finding& finding : outcome.findings) {
    lines.push_back(recipes::TextOf(finding, recipes::Language::kEnglish));
  }
  return base::Join(lines, between);
}

void PrintAgentLine(const Result<Done>& done) {
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  const bool is_whole = done.ok() && done->failures.empty();
  json.BeginObject();
  json.Key("status");
  json.String(is_whole ? "success" : "error");
  json.Key("code");
  json.Int(is_whole ? 0 : 1);
  json.Key("message");
  json.BeginObject();
  if (done.ok() && !done->written.db.empty()) {
    json.Key("db_path");
    json.String(done->written.db);
    json.Key("tables");
    json.BeginArray();
    for (const std::string& table : done->written.tables) json.String(table);
    json.EndArray();
  } else if (done.ok()) {
    json.Key("csv_path");
    json.BeginArray();
    for (const std::string& file : done->written.files) json.String(file);
    json.EndArray();
  }
  if (!is_whole) {
    json.Key("err");
    json.String(done.ok() ? base::Join(done->failures, "; ")
                          : std::string(done.status().message()));
  }
  json.EndObject();
  if (done.ok()) {
    json.Key("suggestion");
    json.String(Sentences(done->result.outcome, " "));
  }
  json.EndObject();
  PrintJson(json.Take());
}

void PrintResult(const Done& done) {
  const std::string sentences = Sentences(done.result.outcome, "\n");
  if (!sentences.empty()) PrintText(sentences + "\n");
  if (!done.written.tables.empty()) {
    PrintText(Concat(done.written.db, ": ", base::Join(done.written.tables, ", "), "\n"));
  }
  for (const std::string& file : done.written.files) PrintText(file + "\n");
}

void ReportOptionsWithoutEffect(const cluster::Mode& mode, const ClusterOptions& options) {
  if (mode.takes_all_steps && options.step_id >= 0) {
    PrintNotice(Concat("--step_id has no effect on the mode ", mode.name));
  }
  for (const std::string& name : options.given) {
    if (std::find(mode.flags.begin(), mode.flags.end(), name) != mode.flags.end()) continue;
    if (name == "--keep_clocks" && mode.needs.waits) continue;
    PrintNotice(Concat(name, " has no effect on the mode ", mode.name));
  }
}

// A number, or -1 for the mode's own where it is none that can be.
int64_t TopNumber(const std::string& text) {
  if (text.empty()) return -1;
  const auto number = base::ParseInt64(text);
  if (number && *number > 0) return *number;
  PrintNotice(Concat("--top_num must be a number above 0, not '", text, "': the default is used"));
  return -1;
}

Result<cluster::ModeOptions> ModeOptionsOf(const ClusterOptions& options,
                                           const std::string& folder) {
  SONDE_ASSIGN_OR_RETURN(const auto time_range, ParseTimeRange(options.time_range));
  std::vector<std::string> tables;
  for (const std::string_view table : base::Split(options.tables, ',')) {
    if (!base::Trim(table).empty()) tables.emplace_back(base::Trim(table));
  }
  constexpr double kNsPerUs = 1000;
  cluster::ModeOptions of_mode{
      .step_id = options.step_id,
      .top_num = TopNumber(options.top_num),
      .exclude_op_name = options.exclude_op_name,
      .keeps_clocks = options.keeps_clocks,
      .rank_id = options.rank_id,
      .base_path = ClusterPath(options.base_path),
      .gpu_path = ClusterPath(options.gpu_path),
      .fuzzy_threshold = options.fuzzy_threshold,
      .dumps_intermediate = options.dumps_intermediate,
      .time_range = time_range,
      .min_dur_ns = static_cast<int64_t>(options.min_duration_us * kNsPerUs),
      .wanted_tables = std::move(tables),
      .result_folder = folder,
      .profiling_path = ClusterPath(options.path)};
  if (options.parallel_types) {
    SONDE_ASSIGN_OR_RETURN(of_mode.parallel_types, ParseParallelTypes(*options.parallel_types));
  }
  return of_mode;
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

cluster::RunOptions RunOptionsOf(bool is_quiet) {
  return {.threads = base::AvailableThreads(), .notify = PrintNotice, .shows_progress = !is_quiet};
}

Result<cluster::RunResult> RunAsked(const Asked& asked, const std::vector<cluster::Rank>& ranks,
                                    const cluster::ModeOptions& mode_options, bool is_quiet) {
  const cluster::RunOptions run = RunOptionsOf(is_quiet);
  if (asked.recipe == nullptr) return cluster::Run(*asked.mode, ranks, mode_options, run);
  return cluster::RunUserRecipe(*asked.recipe, ranks, mode_options, run, *asked.table);
}

cluster::Place PlaceOf(const ClusterOptions& options) {
  return options.is_alone ? cluster::Place() : cluster::PlaceOfEnvironment();
}

std::string ResultFolder(const ClusterOptions& options) {
  const std::string output = ClusterPath(options.output.empty() ? options.path : options.output);
  return base::JoinPath(output, "cluster_analysis_output");
}

std::string RendezvousFolder(const ClusterOptions& options) {
  const std::string folder = options.rendezvous_folder.empty()
                                 ? ResultFolder(options)
                                 : ClusterPath(options.rendezvous_folder);
  return base::JoinPath(folder, "rendezvous");
}

// Of one of several processes that is not the first.
Result<int> ServeFirst(const ClusterOptions& options, const cluster::Place& place) {
  if (cluster::FindMode(options.mode) == nullptr) return kExitFailure;  // process 0 reports why
  SONDE_ASSIGN_OR_RETURN(const auto rendezvous,
                         cluster::Rendezvous::Join(RendezvousFolder(options), place,
                                                   std::chrono::seconds(options.patience_s)));
  SONDE_RETURN_IF_ERROR(cluster::Serve(*rendezvous, place, RunOptionsOf(/*is_quiet=*/true)));
  return kExitOk;
}

// Null where this process is the only one.
Result<std::unique_ptr<cluster::Head>> GatherOthers(const ClusterOptions& options,
                                                    const Asked& asked) {
  const cluster::Place place = PlaceOf(options);
  if (!place.is_shared()) return std::unique_ptr<cluster::Head>();
  if (asked.recipe != nullptr) {
    return base::InvalidArgumentError(
        "user recipes run in one process: pass --alone where all ranks are visible");
  }
  PrintNotice(Concat("process 0 of ", std::to_string(place.count), ", as ", place.given_by,
                     " states: they share the ranks (--alone: this one does all)"));
  return cluster::Head::Gather(RendezvousFolder(options), place,
                               std::chrono::seconds(options.patience_s),
                               RunOptionsOf(/*is_quiet=*/true));
}

Result<cluster::RankChoice> Choose(const std::string& path, const std::vector<int32_t>& wanted,
                                   cluster::Hosts* hosts) {
  if (hosts != nullptr) return hosts->Choose(path, wanted);
  SONDE_ASSIGN_OR_RETURN(
      const job::Job found,
      job::FindWholeJob({path}, {.max_depth = cluster::kFolderDepth, .allow = {}}));
  return cluster::ChooseRanks(found, wanted);
}

Result<Done> Analyse(const ClusterOptions& options, Asked& asked) {
  asked.mode = cluster::FindMode(options.mode);
  if (asked.mode == nullptr) SONDE_RETURN_IF_ERROR(FindRecipe(options, asked));
  const cluster::Mode& mode = *asked.mode;
  SONDE_ASSIGN_OR_RETURN(const auto wanted, ParseRankList(options.rank_list));
  const std::string path = ClusterPath(options.path);
  if (!PlaceOf(options).is_shared() && !base::IsDirectory(path)) {  // of several, one may see it
    return base::NotFoundError(Concat("'", path, "' is no folder"));
  }
  const std::string folder = ResultFolder(options);
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(folder).Annotate(
      "results cannot be written, name another folder with -o"));
  SONDE_ASSIGN_OR_RETURN(const auto hosts, GatherOthers(options, asked));
  ReportOptionsWithoutEffect(mode, options);
  SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice, Choose(path, wanted, hosts.get()));
  for (const std::string& notice : choice.notices) PrintNotice(notice);
  Done done;
  SONDE_ASSIGN_OR_RETURN(auto mode_options, ModeOptionsOf(options, folder));
  mode_options.hosts.value = hosts.get();
  SONDE_ASSIGN_OR_RETURN(done.result, RunAsked(asked, choice.ranks, mode_options, options.agent));
  for (const std::string& notice : done.result.outcome.notices) PrintNotice(notice);
  done.failures = job::DescribeFailures(done.result.failures);
  const cluster::Form form = cluster::FormOf(options.export_type, done.result.outcome);
  SONDE_ASSIGN_OR_RETURN(done.written, cluster::Write(mode, done.result.outcome, form, folder));
  return done;
}

Result<int> Cluster(const ClusterOptions& options) {
  if (const cluster::Place place = PlaceOf(options); place.number > 0) {
    return ServeFirst(options, place);
  }
  Asked asked;  // results refer to it
  const Result<Done> done = Analyse(options, asked);
  if (options.agent) {
    PrintAgentLine(done);
    return done.ok() && done->failures.empty() ? kExitOk : kExitFailure;
  }
  if (!done.ok()) return done.status();
  PrintResult(*done);
  for (const std::string& line : done->failures) {
    PrintError(Concat(line, "; it is missing from the results"));
  }
  return done->failures.empty() ? kExitOk : kExitFailure;
}

CommandAction DeclareCluster(CLI::App& app) {
  auto options = std::make_shared<ClusterOptions>();
  AddClusterOptions(app, *options);
  return [options](const Context&) -> Result<int> { return Cluster(*options); };
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
