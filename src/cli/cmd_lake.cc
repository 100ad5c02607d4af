// `sonde lake`: the tables of many runs as Parquet files with one catalogue.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/buckets.h"
#include "cli/command.h"
#include "cli/job_notices.h"
#include "job/job.h"
#include "job/lake.h"
#include "store/lake.h"

namespace sonde::cli {
namespace {

using base::Concat;

struct LakeOptions {
  std::vector<std::string> sources;
  std::string folder;
  std::string run;
};

// Recordings in buckets are copied, and keep the name of their folder.
Status GetSources(BucketPaths& paths, LakeOptions& options) {
  for (std::string& source : options.sources) {
    if (IsBucket(source) && options.run.empty()) {
      options.run = std::string(base::BaseName(source));
    }
    SONDE_RETURN_IF_ERROR(paths.Read(source));
  }
  return {};
}

Result<int> AddToLake(const Context& context, LakeOptions options) {
  BucketPaths paths(context);
  SONDE_RETURN_IF_ERROR(GetSources(paths, options));
  SONDE_ASSIGN_OR_RETURN(const job::Job found, job::FindWholeJob(options.sources));
  NotifyOfJob(found);
  job::LakeTarget target{.folder = WithoutFileScheme(options.folder), .run = options.run};
  std::unique_ptr<Bucket> bucket;
  if (IsBucket(options.folder)) {
    SONDE_ASSIGN_OR_RETURN(bucket, Bucket::Open(context, options.folder));
    SONDE_RETURN_IF_ERROR(bucket->GetToChange(kLakeCatalog));
    target.folder = bucket->folder();
    target.place = options.folder;
  }
  SONDE_ASSIGN_OR_RETURN(job::LakeAdded added, job::AddToLake(found, target,
                                                              {.threads = base::AvailableThreads(),
                                                               .notify = PrintNotice,
                                                               .complain = PrintError,
                                                               .shows_progress = true}));
  if (bucket != nullptr && !added.files.empty()) {
    added.files.emplace_back(kLakeCatalog);  // the last: it shows the others
    SONDE_RETURN_IF_ERROR(bucket->Put(added.files));
  }
  PrintText(Concat(
      options.folder, ": ", base::CountOf(added.added, "trace"), " added",
      added.was_there > 0 ? Concat(", ", std::to_string(added.was_there), " there already") : "",
      "\n"));
  return added.is_whole ? kExitOk : kExitFailure;
}

Result<std::vector<store::LakeRun>> RunsOf(const Context& context, const std::string& place) {
  if (!IsBucket(place)) return store::ListLake(WithoutFileScheme(place));
  SONDE_ASSIGN_OR_RETURN(const auto bucket, Bucket::Open(context, place));
  SONDE_RETURN_IF_ERROR(bucket->Get({{kLakeCatalog, -1}}));
  return store::ListLake(bucket->folder());
}

Result<int> ListLake(const Context& context, const LakeOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const auto runs, RunsOf(context, options.folder));
  if (runs.empty()) {
    PrintText(Concat(options.folder, ": no runs\n"));
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {"run", "name", "ranks", "traces", "rows", "size", ""}};
  for (const store::LakeRun& run : runs) {
    rows.push_back({std::to_string(run.number), run.name, std::to_string(run.ranks),
                    std::to_string(run.traces), std::to_string(run.rows),
                    base::FormatBytes(static_cast<uint64_t>(run.bytes)),
                    run.faulty == 0
                        ? ""
                        : Concat(base::CountOf(static_cast<size_t>(run.faulty), "trace"),
                                 " with faults (table import_issue)")});
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column) {
      size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      line += Concat(row[column], std::string(width - row[column].size() + 2, ' '));
    }
    text += Concat(line.substr(0, line.find_last_not_of(' ') + 1), "\n");
  }
  PrintText(text);
  return kExitOk;
}

CommandAction DeclareAdd(CLI::App& app) {
  auto options = std::make_shared<LakeOptions>();
  app.add_option("RUN", options->sources, "Recordings, or folders with those of many ranks")
      ->required();
  app.add_option("--to", options->folder,
                 "Folder of the lake, or s3://BUCKET/NAME; made where there is none")
      ->required();
  app.add_option("--run", options->run,
                 "Name of the run (default: of the folder that its recordings lie in)");
  return [options](const Context& context) { return AddToLake(context, *options); };
}

CommandAction DeclareList(CLI::App& app) {
  auto options = std::make_shared<LakeOptions>();
  app.add_option("LAKE", options->folder, "Folder of the lake, or s3://BUCKET/NAME")->required();
  return [options](const Context& context) { return ListLake(context, *options); };
}

std::vector<Command> LakeCommands() {
  return {{.name = "add",
           .summary = "Add runs to a lake: Parquet files by run and rank; what is there stays",
           .example = "sonde lake add ./profile --to /data/lake --run nightly-12",
           .declare = &DeclareAdd},
          {.name = "list",
           .summary = "List the runs of a lake",
           .example = "sonde lake list /data/lake",
           .declare = &DeclareList}};
}

CommandAction DeclareLake(CLI::App& app) {
  auto actions = std::make_shared<std::vector<std::pair<CLI::App*, CommandAction>>>();
  app.require_subcommand(1);
  for (const Command& command : LakeCommands()) {
    CLI::App* below = app.add_subcommand(std::string(command.name), std::string(command.summary));
    below->footer(Concat("\nExample:\n  ", command.example));
    actions->emplace_back(below, command.declare(*below));
  }
  return [actions](const Context& context) -> Result<int> {
    const auto chosen =
        std::ranges::find_if(*actions, [](const auto& action) { return action.first->parsed(); });
    return chosen->second(context);
  };
}

}  // namespace

Command LakeCommand() {
  return {.name = "lake",
          .summary = "Keep the tables of many runs as Parquet with one catalogue",
          .example =
              "sonde lake add ./profile --to /data/lake\n"
              "sonde query /data/lake 'SELECT name, sum(dur) FROM device_task WHERE rank = 3 "
              "GROUP BY name'",
          .declare = &DeclareLake};
}

}  // namespace sonde::cli
