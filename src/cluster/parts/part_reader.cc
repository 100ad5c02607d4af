#include "cluster/parts/part_reader.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/waits.h"
#include "cluster/parts/together.h"
#include "job/job.h"

namespace sonde::cluster {

// A mode over packs; `waits` are those of the ranks of these packs, by trace.
struct PartReader::Round {
  const Mode& mode;
  ModeOptions options;
  std::vector<Pack> packs;
  std::string waits_file = {};
  std::shared_ptr<const std::map<int32_t, Part>> waits = {};
};

namespace {

using base::Concat;

constexpr std::string_view kPartEnding = ".parquet";

// A part in which a rank has failed.
std::string FailedName(std::string_view name) {
  return Concat(name.substr(0, name.size() - kPartEnding.size()), ".failed", kPartEnding);
}

PackedRank PackedOf(const Rank& rank) {
  return {.rank = rank.number,
          .run = rank.trace.run,
          .trace = rank.trace.number,
          .path = rank.trace.source.path,
          .importer = rank.trace.source.importer->name};
}

// The rows of the rank, which go; none where it is not among them.
std::optional<Part> TakePart(std::vector<RankPart>& parts, int32_t rank) {
  const auto found = std::ranges::find(parts, rank, &RankPart::rank);
  if (found == parts.end()) return std::nullopt;
  return std::move(found->part);
}

bool WroteAll(const PartFile& file) {
  return std::ranges::all_of(file.parts, [](const Part& part) {
    return std::ranges::all_of(part.Rows<ResultPath>(), [](const ResultPath& result) {
      return base::PathExists(result.path);
    });
  });
}

}  // namespace

PartReader::PartReader(PartWork work, PartFiles files)
    : work_(std::move(work)), files_(std::move(files)) {}

Result<std::unique_ptr<PartReader>> PartReader::Open(PartWork work) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(work.folder));
  SONDE_ASSIGN_OR_RETURN(PartFiles files, PartFiles::Open());
  return std::unique_ptr<PartReader>(new PartReader(std::move(work), std::move(files)));
}

// Once, also where a mode looks at its ranks again.
void PartReader::Notify(std::string_view line) {
  if (!notified_.emplace(line).second) return;
  if (work_.missing == Missing::kList) {
    held_.emplace_back(line);
  } else {
    work_.run.notify(line);
  }
}

void PartReader::SayHeld() {
  for (const std::string& line : std::exchange(held_, {})) work_.run.notify(line);
}

std::string PartReader::PathOf(const std::string& name) const {
  return base::JoinPath(work_.folder, name);
}

std::string PartReader::FoundPath(const std::string& name) const {
  for (const std::string& path : {PathOf(name), PathOf(FailedName(name))}) {
    if (base::PathExists(path)) return path;
  }
  return {};
}

bool PartReader::IsOwn(size_t pack) const {
  return pack % static_cast<size_t>(work_.share.count) == static_cast<size_t>(work_.share.number);
}

bool PartReader::IsDone(const Mode& mode, const std::string& name) {
  // An engine has made it just now; it would fail again.
  if (work_.missing == Missing::kList) return !FoundPath(name).empty();
  if (!base::PathExists(PathOf(name))) return false;
  if (!mode.writes_files) return true;
  const auto file = files_.Read(PathOf(name));
  return file.ok() && WroteAll(*file);
}

Result<RankChoice> PartReader::Choose(const std::string& folder,
                                      const std::vector<int32_t>& wanted) {
  return ChooseOf({folder}, wanted);
}

Result<RankChoice> PartReader::ChooseOf(const std::vector<std::string>& sources,
                                        const std::vector<int32_t>& wanted) {
  SONDE_ASSIGN_OR_RETURN(const job::Job found,
                         job::FindWholeJob(sources, {.max_depth = kFolderDepth, .allow = {}}));
  world_ = WorldOf(found);
  return ChooseRanks(found, wanted);
}

Status PartReader::WritePart(const Round& round, size_t pack, MappedRanks& mapped,
                             std::vector<std::string> notices) {
  PartFile file{.facts = {.mode = std::string(round.mode.name),
                          .options = OptionsText(round.options),
                          .world = world_},
                .ranks = {},
                .parts = {},
                .notices = std::move(notices)};
  for (const Rank& rank : round.packs[pack].ranks) {
    PackedRank& packed = file.ranks.emplace_back(PackedOf(rank));
    Part& part = file.parts.emplace_back();
    if (auto rows = TakePart(mapped.parts, rank.number)) {
      part = std::move(*rows);
      continue;
    }
    if (auto collectives = TakePart(mapped.pending, rank.number)) {
      part = std::move(*collectives);
      packed.is_pending = true;
      continue;
    }
    const auto failure = std::ranges::find(mapped.failures, packed.path, &job::TraceFailure::path);
    const Status why =
        failure != mapped.failures.end() ? failure->why : base::InternalError("it was not read");
    packed.code = static_cast<int64_t>(why.code());
    packed.failure = why.message();
  }
  const std::string path = PathOf(round.packs[pack].name);
  const std::string failed = PathOf(FailedName(round.packs[pack].name));
  if (file.HasFailures()) return files_.Write(failed, file);
  SONDE_RETURN_IF_ERROR(files_.Write(path, file));
  return base::RemoveTree(failed);
}

Status PartReader::Make(const Round& round, const std::vector<size_t>& packs) {
  std::vector<Rank> ranks;
  for (const size_t pack : packs) {
    const auto& own = round.packs[pack].ranks;
    ranks.insert(ranks.end(), own.begin(), own.end());
  }
  std::vector<std::string> notices;
  RunOptions run = work_.run;
  run.notify = [&](std::string_view line) { notices.emplace_back(line); };
  run.leaves_waits = round.waits == nullptr;
  if (round.waits != nullptr) {
    run.waits_of = [&](int32_t trace) {
      const auto found = round.waits->find(trace);
      return found == round.waits->end() ? std::span<const int64_t>() : WaitsIn(found->second);
    };
  }
  MappedRanks mapped = MapHere(round.mode, ranks, round.options, run);
  for (const size_t pack : packs) {
    SONDE_RETURN_IF_ERROR(WritePart(round, pack, mapped, std::exchange(notices, {})));
  }
  return {};
}

// As many at a time as keep the threads busy; what is made when it is killed is lost.
Status PartReader::MakeOwn(const Round& round) {
  std::vector<size_t> todo;
  for (size_t i = 0; i < round.packs.size(); ++i) {
    if (IsOwn(i) && !IsDone(round.mode, round.packs[i].name)) todo.push_back(i);
  }
  const size_t together = 2 * static_cast<size_t>(std::max(1, work_.run.threads));
  for (size_t begin = 0; begin < todo.size(); begin += together) {
    const size_t end = std::min(todo.size(), begin + together);
    SONDE_RETURN_IF_ERROR(Make(round, {todo.begin() + static_cast<ptrdiff_t>(begin),
                                       todo.begin() + static_cast<ptrdiff_t>(end)}));
  }
  return {};
}

// From the last on, since those that have them as their share begin with the first.
Status PartReader::MakeMissing(const Round& round) {
  for (size_t i = round.packs.size(); i > 0; --i) {
    const Pack& pack = round.packs[i - 1];
    if (IsOwn(i - 1) && !FoundPath(pack.name).empty()) continue;  // just now, or failed
    if (IsDone(round.mode, pack.name)) continue;
    if (work_.missing == Missing::kList) {
      tasks_.push_back({std::string(round.mode.name), pack, round.waits_file});
      continue;
    }
    SONDE_RETURN_IF_ERROR(Make(round, {i - 1}));
  }
  if (tasks_.empty()) return {};
  return base::UnavailableError(
      Concat(base::CountOf(tasks_.size(), "part is", "parts are"), " still to be mapped"));
}

Result<std::vector<PartFile>> PartReader::ReadAll(const Round& round) {
  std::vector<PartFile> files;
  for (const Pack& pack : round.packs) {
    SONDE_ASSIGN_OR_RETURN(PartFile file, files_.Read(FoundPath(pack.name)));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::string> PartReader::Shuffle(const Round& round, const std::vector<PartFile>& files) {
  std::vector<std::string> names;
  for (const Pack& pack : round.packs) names.push_back(pack.name);
  std::string path = PathOf(NameOfWaits(round.mode, names));
  if (base::PathExists(path)) return path;
  SONDE_RETURN_IF_ERROR(
      files_.Write(path, WaitsOf(round.mode, files, IsGiven(round.options.values, kKeepClocks))));
  return path;
}

// Of these ranks.
Status PartReader::TakeWaits(const std::string& waits, const std::vector<int32_t>& ranks,
                             Round& round) {
  round.waits_file = waits;
  if (ranks.empty() || work_.missing == Missing::kList) return {};
  SONDE_ASSIGN_OR_RETURN(PartFile file, files_.Read(waits, ranks));
  const auto by_trace = std::make_shared<std::map<int32_t, Part>>();
  for (size_t i = 0; i < file.ranks.size(); ++i) {
    by_trace->emplace(file.ranks[i].trace, std::move(file.parts[i]));
  }
  round.waits = by_trace;
  for (const std::string& line : file.notices) Notify(line);
  return {};
}

// The packs again, with what is pending in them.
Result<PartReader::Round> PartReader::WithWaits(const Round& round,
                                                const std::vector<PartFile>& files,
                                                const std::string& waits) {
  Round with{.mode = round.mode, .options = round.options, .packs = {}};
  std::vector<int32_t> wanted;
  for (size_t i = 0; i < files.size(); ++i) {
    Pack pack{.ranks = {}, .name = NameWithWaits(round.packs[i].name, base::BaseName(waits))};
    for (const PackedRank& rank : files[i].ranks) {
      if (rank.is_pending) pack.ranks.push_back(RankOf(rank));
    }
    if (pack.ranks.empty()) continue;
    for (const Rank& rank : pack.ranks) wanted.push_back(rank.number);
    with.packs.push_back(std::move(pack));
  }
  SONDE_RETURN_IF_ERROR(TakeWaits(waits, wanted, with));
  return with;
}

Result<std::string> PartReader::MapPack(const Mode& mode, const Pack& pack,
                                        const ModeOptions& options, const std::string& waits) {
  Round round{.mode = mode, .options = options, .packs = {pack}};
  std::vector<int32_t> ranks;
  for (const Rank& rank : pack.ranks) ranks.push_back(rank.number);
  if (!waits.empty()) SONDE_RETURN_IF_ERROR(TakeWaits(waits, ranks, round));
  SONDE_RETURN_IF_ERROR(MakeOwn(round));
  return FoundPath(pack.name);
}

Result<std::vector<std::string>> PartReader::MapPacks(const Mode& mode,
                                                      const std::vector<Pack>& packs,
                                                      const ModeOptions& options,
                                                      const std::string& waits) {
  Round round{.mode = mode, .options = options, .packs = packs};
  round.options.reader = {};
  SONDE_RETURN_IF_ERROR(MakeOwn(round));
  std::vector<std::string> paths;
  for (size_t i = 0; i < packs.size(); ++i) {
    if (!IsOwn(i)) continue;
    paths.push_back(FoundPath(packs[i].name));
    if (waits.empty()) continue;
    Round own{.mode = mode, .options = round.options, .packs = {packs[i]}};
    SONDE_ASSIGN_OR_RETURN(const auto files, ReadAll(own));
    if (!files.front().HasPending()) continue;
    const Place share = std::exchange(work_.share, {});
    auto made = WithWaits(own, files, waits);
    const Status done = made.ok() ? MakeOwn(*made) : made.status();
    work_.share = share;
    SONDE_RETURN_IF_ERROR(done);
    paths.push_back(FoundPath(made->packs.front().name));
  }
  return paths;
}

Status PartReader::MapShare(const Mode& mode, const std::vector<Rank>& ranks,
                            const ModeOptions& options) {
  Round round{.mode = mode, .options = options, .packs = PacksOf(mode, ranks, options)};
  SONDE_RETURN_IF_ERROR(MakeOwn(round));
  if (!mode.needs.waits) return {};
  // What is not there yet is made rather than awaited: who makes it may have ended.
  SONDE_RETURN_IF_ERROR(MakeMissing(round));
  SONDE_ASSIGN_OR_RETURN(const auto files, ReadAll(round));
  if (std::ranges::none_of(files, &PartFile::HasPending)) return {};
  SONDE_ASSIGN_OR_RETURN(const std::string waits, Shuffle(round, files));
  SONDE_ASSIGN_OR_RETURN(const Round with, WithWaits(round, files, waits));
  return MakeOwn(with);
}

Result<MappedRanks> PartReader::Map(const Mode& mode, const std::vector<Rank>& ranks,
                                    const ModeOptions& options) {
  Round round{.mode = mode, .options = options, .packs = {}};
  round.options.reader = {};
  round.packs = PacksOf(mode, ranks, round.options);
  if (work_.missing == Missing::kMake) SONDE_RETURN_IF_ERROR(MakeOwn(round));
  SONDE_RETURN_IF_ERROR(MakeMissing(round));
  SONDE_ASSIGN_OR_RETURN(std::vector<PartFile> files, ReadAll(round));
  if (std::ranges::any_of(files, &PartFile::HasPending)) {
    SONDE_ASSIGN_OR_RETURN(const std::string waits, Shuffle(round, files));
    SONDE_ASSIGN_OR_RETURN(const Round with, WithWaits(round, files, waits));
    if (work_.missing == Missing::kMake) SONDE_RETURN_IF_ERROR(MakeOwn(with));
    SONDE_RETURN_IF_ERROR(MakeMissing(with));
    SONDE_ASSIGN_OR_RETURN(std::vector<PartFile> more, ReadAll(with));
    std::move(more.begin(), more.end(), std::back_inserter(files));
  }
  std::vector<PartFile*> all;
  for (PartFile& file : files) all.push_back(&file);
  return Together(all, ranks, [this](std::string_view line) { Notify(line); });
}

}  // namespace sonde::cluster
