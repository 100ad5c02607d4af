// Maps of more ranks than a session reads, and the traces of those that are opened.
#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "cluster/frame/run.h"
#include "importers/registry.h"
#include "serve/databases.h"
#include "serve/session.h"
#include "store/lake.h"

namespace sonde::serve {
namespace {

using base::Concat;

// From so many on traces are not read where a finished result beside them shows their steps.
constexpr size_t kMostBesideResult = 256;

bool HasTraces(const std::string& path) {
  const auto found = importers::FindTraces(path);
  return found.ok() && !found->empty();
}

}  // namespace

void Session::AddMaps(std::vector<std::shared_ptr<RankMap>> maps) {
  Update([&] {
    for (std::shared_ptr<RankMap>& map : maps) {
      message_.maps.push_back({.name = map->name(),
                               .lake = map->lake(),
                               .ranks = static_cast<int64_t>(map->sources())});
      maps_.push_back(std::move(map));
    }
  });
}

std::string Session::FindMaps(std::vector<std::string>& paths) {
  std::string result;
  std::vector<std::string> others;
  bool is_alone = false;  // a result without recordings
  for (const std::string& path : paths) {
    if (store::IsLake(path)) {
      auto maps = RankMap::OfLake(path);
      Status failure = maps.status();
      if (maps.ok() && maps->empty()) {
        failure = base::NotFoundError(Concat("the lake '", path, "' has no runs yet"));
      }
      if (maps.ok()) AddMaps(*std::move(maps));
      if (!failure.ok()) NoteFailure(failure);
      continue;
    }
    const std::string found = RankMap::FindResult(path);
    if (!found.empty()) result = found;
    const bool has_traces = found.empty() || HasTraces(path);
    is_alone |= !has_traces;
    if (has_traces) others.push_back(path);
  }
  paths = std::move(others);
  if (is_alone && paths.empty()) AddMaps({RankMap::OfResult(result, {})});
  return result;
}

bool Session::RestTraces(const std::string& result, const job::Job& found) {
  if (result.empty() || found.traces.size() < kMostBesideResult) return false;
  // The ranks of a result have their numbers by this rule.
  const auto choice = cluster::ChooseRanks(found, {});
  std::map<int32_t, importers::TraceSource> sources;
  if (choice.ok()) {
    for (const cluster::Rank& rank : choice->ranks) sources.emplace(rank.number, rank.trace.source);
  }
  AddMaps({RankMap::OfResult(result, std::move(sources))});
  return true;
}

Result<std::shared_ptr<RankMap>> Session::FindMap(int64_t map) const {
  const std::scoped_lock lock(mutex_);
  if (map >= 0 && map < std::ssize(maps_)) return maps_[static_cast<size_t>(map)];
  return base::NotFoundError(Concat("there is no map ", std::to_string(map)));
}

Result<int32_t> Session::OpenRank(int64_t map, int64_t rank) {
  SONDE_ASSIGN_OR_RETURN(const auto found, FindMap(map));
  SONDE_ASSIGN_OR_RETURN(const auto source, found->SourceOf(static_cast<int32_t>(rank)));
  size_t index = 0;
  Update([&] {
    index = job::IndexOf(job_, source.path).value_or(slots_.size());
    if (index < slots_.size()) return;
    job::Job opened;
    opened.traces.push_back({.rank = static_cast<int32_t>(rank), .source = source});
    job::Append(job_, std::move(opened));
    AddSlots("waiting");
    // The file of a lake has a key for a name.
    if (!found->lake().empty()) message_.traces[index].name = found->name();
    message_.loading = true;
    is_opened_ = true;
  });
  return static_cast<int32_t>(index);
}

Result<std::shared_ptr<const store::UserStatements>> Session::Lake() {
  std::string folder;
  {
    const std::scoped_lock lock(mutex_);
    if (lake_ != nullptr) return lake_;
    const auto lake =
        std::ranges::find_if(maps_, [](const auto& map) { return !map->lake().empty(); });
    if (lake != maps_.end()) folder = (*lake)->lake();
  }
  if (folder.empty()) return base::NotFoundError("no lake is open");
  SONDE_ASSIGN_OR_RETURN(auto opened, store::UserStatements::Open({{.path = folder, .traces = {}}},
                                                                  StatementThreads(), limits_));
  const std::scoped_lock lock(mutex_);
  lake_ = std::move(opened);
  return lake_;
}

}  // namespace sonde::serve
