// `sonde cluster map`, `shuffle`, `reduce`: the steps of a mode by themselves, for work that
// engines and job arrays hand out. Each is pure, and repeated without effect.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "base/strings.h"
#include "cli/buckets.h"
#include "cli/cluster_options.h"
#include "cli/cluster_run.h"
#include "cli/command.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/other_run.h"
#include "cluster/parts/given_parts.h"
#include "cluster/parts/launch.h"
#include "cluster/parts/packs.h"
#include "cluster/parts/part_reader.h"
#include "cluster/parts/together.h"
#include "job/job.h"

namespace sonde::cli {
namespace {

using base::Concat;

Result<const cluster::Mode*> ModeOfStep(const std::string& name) {
  const cluster::Mode* mode = cluster::FindModeOrPart(name);
  if (mode != nullptr) return mode;
  return base::InvalidArgumentError(
      Concat("'", name,
             "' is no mode that is mapped by itself ('sonde cluster --help' lists them; "
             "recipes of yours run in one process)"));
}

std::vector<std::string> PathsOf(const std::vector<std::string>& given) {
  std::vector<std::string> paths;
  for (const std::string& path : given) paths.push_back(ClusterPath(path));
  return paths;
}

// "3/0/12" of a source.
Result<cluster::Rank> RankOfNumbers(const std::string& numbers, const std::string& source) {
  const auto words = base::Split(numbers, '/');
  std::vector<int32_t> values;
  for (const std::string_view word : words) {
    const auto value = base::ParseInt64(word);
    if (value && *value >= 0 && *value <= INT32_MAX) values.push_back(static_cast<int32_t>(*value));
  }
  if (words.size() != 3 || values.size() != 3) {
    return base::InvalidArgumentError(
        Concat("--numbers must be RANK/RUN/TRACE of each SOURCE, not '", numbers, "'"));
  }
  SONDE_ASSIGN_OR_RETURN(
      const job::Job found,
      job::FindWholeJob({source}, {.max_depth = cluster::kFolderDepth, .allow = {}}));
  cluster::Rank rank{.number = values[0], .trace = found.traces.front()};
  for (const job::Trace& trace : found.traces) {
    if (trace.source.path == source) rank.trace = trace;
  }
  rank.trace.run = values[1];
  rank.trace.number = values[2];
  return rank;
}

// The sources as one pack.
Result<cluster::Pack> PackOfNumbers(const ClusterStepOptions& options, const cluster::Mode& mode,
                                    const cluster::ModeOptions& mode_options) {
  const auto sources = PathsOf(options.sources);
  if (options.numbers.size() != sources.size()) {
    return base::InvalidArgumentError("--numbers must have as many words as there are SOURCEs");
  }
  std::vector<cluster::Rank> ranks;
  for (size_t i = 0; i < sources.size(); ++i) {
    SONDE_ASSIGN_OR_RETURN(cluster::Rank rank, RankOfNumbers(options.numbers[i], sources[i]));
    ranks.push_back(std::move(rank));
  }
  cluster::Pack pack = cluster::OnePack(mode, std::move(ranks), mode_options);
  if (!options.waits.empty()) {
    pack.name = cluster::NameWithWaits(pack.name, base::BaseName(options.waits));
  }
  if (!options.part_name.empty()) pack.name = options.part_name;
  return pack;
}

Result<std::vector<std::string>> MapSources(const ClusterStepOptions& options,
                                            const cluster::Mode& mode,
                                            const cluster::ModeOptions& mode_options,
                                            cluster::PartReader& reader) {
  const std::string waits = ClusterPath(options.waits);
  if (!options.numbers.empty()) {
    SONDE_ASSIGN_OR_RETURN(const auto pack, PackOfNumbers(options, mode, mode_options));
    SONDE_ASSIGN_OR_RETURN(std::string path, reader.MapPack(mode, pack, mode_options, waits));
    return std::vector{std::move(path)};
  }
  SONDE_ASSIGN_OR_RETURN(const auto wanted, ParseRankList(options.cluster.rank_list));
  SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice,
                         reader.ChooseOf(PathsOf(options.sources), wanted));
  for (const std::string& notice : choice.notices) PrintNotice(notice);
  return reader.MapPacks(mode, cluster::PacksOf(mode, choice.ranks, mode_options), mode_options,
                         waits);
}

Status CheckProgram(const std::string& wanted) {
  if (wanted.empty() || wanted == cluster::ProgramOfThis()) return {};
  return base::FailedPreconditionError(Concat("the job is done by sonde ", wanted, ", and here is ",
                                              cluster::ProgramOfThis(),
                                              ": every machine needs the same one"));
}

// Where files of modes that write some go, and what their places are relative to.
Result<cluster::ModeOptions> OptionsOfMap(const ClusterStepOptions& options,
                                          const cluster::Mode& mode) {
  if (mode.writes_files && options.results.empty()) {
    return base::InvalidArgumentError(
        Concat(mode.name, " writes files of each rank: name their folder with --results"));
  }
  ClusterOptions own = options.cluster;
  own.output = options.results;
  if (own.path.empty()) own.path = options.sources.front();
  return ModeOptionsOf(own, options.results.empty() ? "" : ClusterResultFolder(own));
}

Result<int> Map(const ClusterStepOptions& options) {
  SONDE_RETURN_IF_ERROR(CheckProgram(options.program));
  SONDE_ASSIGN_OR_RETURN(const cluster::Mode* mode, ModeOfStep(options.cluster.mode));
  cluster::Place place;
  if (!options.cluster.share.empty()) {
    SONDE_ASSIGN_OR_RETURN(place, cluster::ParsePlace(options.cluster.share));
  }
  SONDE_ASSIGN_OR_RETURN(const auto mode_options, OptionsOfMap(options, *mode));
  SONDE_ASSIGN_OR_RETURN(const auto reader,
                         cluster::PartReader::Open({.folder = ClusterPath(options.cluster.output),
                                                    .share = place,
                                                    .run = ClusterRunOptions(/*is_quiet=*/true)}));
  SONDE_ASSIGN_OR_RETURN(const auto paths, MapSources(options, *mode, mode_options, *reader));
  for (const std::string& path : paths) PrintText(path + "\n");
  return kExitOk;
}

Result<int> Shuffle(const ClusterStepOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const cluster::Mode* mode, ModeOfStep(options.cluster.mode));
  SONDE_ASSIGN_OR_RETURN(const auto given,
                         cluster::GivenParts::Open(PathsOf(options.sources), "", PrintNotice));
  const std::string folder = ClusterPath(options.cluster.output);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  SONDE_ASSIGN_OR_RETURN(
      const std::string path,
      given->Shuffle(*mode, cluster::IsGiven(options.cluster.of_mode, cluster::kKeepClocks),
                     folder));
  if (path.empty()) {
    PrintNotice(Concat("no rank of these parts needs waits: reduce them"));
    return kExitOk;
  }
  PrintText(path + "\n");
  return kExitOk;
}

Result<ClusterDone> ReduceParts(const ClusterStepOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const cluster::Mode* mode, ModeOfStep(options.cluster.mode));
  const std::string base_path = cluster::TextOf(options.cluster.of_mode, cluster::kBaseRun);
  SONDE_ASSIGN_OR_RETURN(const auto given, cluster::GivenParts::Open(PathsOf(options.sources),
                                                                     base_path, PrintNotice));
  ClusterOptions own = options.cluster;
  own.path = options.sources.front();
  const std::string folder = ClusterResultFolder(own);
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(folder).Annotate(
      "results cannot be written, name another folder with -o"));
  SONDE_ASSIGN_OR_RETURN(auto mode_options, ModeOptionsOf(own, folder));
  mode_options.reader.value = given.get();
  SONDE_ASSIGN_OR_RETURN(const auto wanted, ParseRankList(options.cluster.rank_list));
  SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice, given->Choose(own.path, wanted));
  for (const std::string& notice : choice.notices) PrintNotice(notice);
  ClusterDone done;
  SONDE_ASSIGN_OR_RETURN(done.result, cluster::Run(*mode, choice.ranks, mode_options,
                                                   ClusterRunOptions(/*is_quiet=*/true)));
  SONDE_RETURN_IF_ERROR(WriteOutcome(own, *mode, folder, done));
  return done;
}

Result<int> Reduce(const ClusterStepOptions& options) {
  return PrintOutcome(options.cluster, ReduceParts(options));
}

template <class Add, class Action>
CommandAction DeclareStep(CLI::App& app, const Add& add, const Action& action) {
  auto options = std::make_shared<ClusterStepOptions>();
  add(app, *options);
  return [options, action](const Context& context) -> Result<int> {
    ClusterStepOptions own = *options;
    BucketPaths paths(context);
    for (std::string& source : own.sources) SONDE_RETURN_IF_ERROR(paths.Read(source));
    SONDE_RETURN_IF_ERROR(paths.Read(own.waits));
    for (std::string* path : PathsOfModeOptions(own.cluster)) {
      SONDE_RETURN_IF_ERROR(paths.Read(*path));
    }
    SONDE_RETURN_IF_ERROR(paths.Write(own.cluster.output, /*goes_on=*/true));
    Result<int> done = action(own);
    if (done.ok()) SONDE_RETURN_IF_ERROR(paths.Put());
    return done;
  };
}

}  // namespace

Command ClusterMapCommand() {
  return {.name = "cluster map",
          .summary = "Keep what a mode needs of each rank, as parts: files named by content",
          .example = "sonde cluster map -m slow_rank ./profile -o ./parts",
          .declare = [](CLI::App& app) { return DeclareStep(app, &AddMapOptions, &Map); }};
}

Command ClusterShuffleCommand() {
  return {.name = "cluster shuffle",
          .summary = "Match the collectives of all ranks, for modes that need their waits",
          .example = "sonde cluster shuffle -m all ./parts -o ./parts",
          .declare = [](CLI::App& app) { return DeclareStep(app, &AddShuffleOptions, &Shuffle); }};
}

Command ClusterReduceCommand() {
  return {.name = "cluster reduce",
          .summary = "Put the parts of all ranks together to the result of a mode",
          .example = "sonde cluster reduce -m slow_rank ./parts -o ./out",
          .declare = [](CLI::App& app) { return DeclareStep(app, &AddReduceOptions, &Reduce); }};
}

}  // namespace sonde::cli
