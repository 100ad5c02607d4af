#include "cluster/parts/given_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "cluster/parts/packs.h"
#include "cluster/parts/together.h"

namespace sonde::cluster {
namespace {

using base::Concat;

Result<std::vector<std::string>> PathsOfParts(const std::vector<std::string>& given) {
  std::vector<std::string> paths;
  for (const std::string& path : given) {
    if (!base::PathExists(path)) return base::NotFoundError(Concat("'", path, "' does not exist"));
    if (!base::IsDirectory(path)) {
      paths.push_back(path);
      continue;
    }
    SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(path));
    const size_t before = paths.size();
    for (const base::DirectoryEntry& entry : entries) {
      const bool is_part = entry.name.ends_with(".parquet") && !entry.name.starts_with('.');
      if (is_part) paths.push_back(base::JoinPath(path, entry.name));
    }
    if (paths.size() == before) {
      return base::NotFoundError(Concat("'", path, "' has no parts of 'sonde cluster map'"));
    }
  }
  std::ranges::sort(paths);
  return paths;
}

bool IsBelow(const std::string& path, const std::string& folder) {
  const std::string whole = base::AbsolutePath(folder);
  const std::string own = base::AbsolutePath(path);
  return own == whole || own.starts_with(Concat(whole, "/"));
}

}  // namespace

Result<std::unique_ptr<GivenParts>> GivenParts::Open(const std::vector<std::string>& paths,
                                                     std::string base_path,
                                                     job::NoticeSink notify) {
  SONDE_ASSIGN_OR_RETURN(const auto all, PathsOfParts(paths));
  SONDE_ASSIGN_OR_RETURN(PartFiles files, PartFiles::Open());
  std::unique_ptr<GivenParts> parts(new GivenParts(std::move(base_path), std::move(notify)));
  for (const std::string& path : all) {
    SONDE_ASSIGN_OR_RETURN(PartFile part, files.Read(path));
    if (!part.facts.is_waits) parts->files_.push_back({path, std::move(part)});
  }
  return parts;
}

// Of all modes: which of them a look needs is known by Map.
Result<RankChoice> GivenParts::Choose(const std::string& folder,
                                      const std::vector<int32_t>& wanted) {
  const bool is_base = !base_path_.empty() && folder == base_path_;
  std::map<std::pair<std::string, int32_t>, PackedRank> known;
  SeenRanks seen;
  for (const File& file : files_) {
    seen.world = std::max(seen.world, file.part.facts.world);
    for (const PackedRank& rank : file.part.ranks) {
      const bool is_of_base = !base_path_.empty() && IsBelow(rank.path, base_path_);
      if (is_of_base == is_base) known.emplace(std::pair(rank.path, rank.rank), rank);
    }
  }
  job::Job job;
  for (const auto& [key, rank] : known) {
    job::Trace& trace = job.traces.emplace_back(RankOf(rank).trace);
    trace.number = static_cast<int32_t>(job.traces.size()) - 1;
    seen.numbers.push_back(rank.rank);
  }
  if (is_base || !wanted.empty()) seen.world = 0;
  return ChooseRanks(job, seen, wanted);
}

Result<std::string> GivenParts::Shuffle(const Mode& mode, bool keeps_clocks,
                                        const std::string& folder) {
  std::vector<std::string> names;
  std::vector<PartFile> parts;
  for (File& file : files_) {
    if (file.part.facts.mode != mode.name || !file.part.HasPending()) continue;
    names.emplace_back(base::BaseName(file.path));
    parts.push_back(std::move(file.part));
  }
  if (parts.empty()) return std::string();
  std::string path = base::JoinPath(folder, NameOfWaits(mode, names));
  if (base::PathExists(path)) return path;
  SONDE_ASSIGN_OR_RETURN(PartFiles files, PartFiles::Open());
  SONDE_RETURN_IF_ERROR(files.Write(path, WaitsOf(mode, parts, keeps_clocks)));
  return path;
}

Result<MappedRanks> GivenParts::Map(const Mode& mode, const std::vector<Rank>& ranks,
                                    const ModeOptions& options) {
  const std::string own_options = OptionsText(options);
  std::vector<PartFile*> files;
  std::vector<std::string> missing;
  for (const Rank& rank : ranks) {
    const bool is_there = std::ranges::any_of(files_, [&](const File& file) {
      return file.part.facts.mode == mode.name &&
             std::ranges::any_of(file.part.ranks, [&](const PackedRank& packed) {
               return packed.rank == rank.number && packed.path == rank.trace.source.path;
             });
    });
    if (!is_there) missing.push_back(std::to_string(rank.number));
  }
  if (!missing.empty()) {
    return base::NotFoundError(Concat("no part of the mode ", mode.name, " holds rank ",
                                      base::Join(missing, ","), ": 'sonde cluster map -m ",
                                      mode.name, "' makes it where its trace is"));
  }
  for (File& file : files_) {
    if (file.part.facts.mode != mode.name) continue;
    if (file.part.facts.options != own_options) {
      return base::FailedPreconditionError(
          Concat("'", file.path, "' was mapped with other options: ", file.part.facts.options,
                 ", and not ", own_options));
    }
    files.push_back(&file.part);
  }
  return Together(files, ranks, notify_);
}

}  // namespace sonde::cluster
