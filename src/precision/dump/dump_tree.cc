#include "precision/dump/dump_tree.h"

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

constexpr int64_t kNoNumber = -1;
constexpr int64_t kOtherName = -2;

bool HasDump(const std::string& folder) {
  return base::PathExists(base::JoinPath(folder, "dump.json")) ||
         base::PathExists(base::JoinPath(folder, "debug.json"));
}

Result<std::vector<std::string>> SubFolders(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(path));
  std::vector<std::string> names;
  for (const base::DirectoryEntry& entry : entries) {
    const bool link_to_folder = entry.kind == base::DirectoryEntry::Kind::kSymlink &&
                                base::IsDirectory(base::JoinPath(path, entry.name));
    if (entry.kind == base::DirectoryEntry::Kind::kDirectory || link_to_folder) {
      names.push_back(entry.name);
    }
  }
  return names;
}

RankFolder MakeRank(const std::string& parent, const std::string& name) {
  RankFolder rank;
  rank.path = base::JoinPath(parent, name);
  rank.rank_name = name;
  rank.rank = NumberBehind(name, "rank");
  if (rank.rank == kOtherName) {
    rank.is_process = NumberBehind(name, "proc") >= 0;
    rank.rank = 0;
  }
  return rank;
}

// The rank and process folders of a step that hold a dump.
Result<std::vector<RankFolder>> RanksOf(const std::string& step) {
  SONDE_ASSIGN_OR_RETURN(const auto names, SubFolders(step));
  std::vector<RankFolder> ranks;
  for (const std::string& name : names) {
    const bool fits = NumberBehind(name, "rank") != kOtherName || NumberBehind(name, "proc") >= 0;
    if (fits && HasDump(base::JoinPath(step, name))) ranks.push_back(MakeRank(step, name));
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankFolder& a, const RankFolder& b) { return a.rank < b.rank; });
  return ranks;
}

// Adds the ranks of every step<N> folder of `root`; returns whether there was one.
Result<bool> AddSteps(const std::string& root, const std::string& prefix, DumpTree* tree) {
  SONDE_ASSIGN_OR_RETURN(const auto names, SubFolders(root));
  std::map<int64_t, std::string> steps;
  for (const std::string& name : names) {
    const int64_t number = NumberBehind(name, "step");
    if (number != kOtherName) steps.emplace(std::max<int64_t>(number, 0), name);
  }
  for (const auto& [number, name] : steps) {
    SONDE_ASSIGN_OR_RETURN(auto ranks, RanksOf(base::JoinPath(root, name)));
    for (RankFolder& rank : ranks) {
      rank.step = number;
      rank.step_name = prefix + name;
      tree->ranks.push_back(std::move(rank));
    }
  }
  return !steps.empty();
}

// Where both sides have one folder each, their numbers do not matter.
bool MayPairAlone(const std::vector<const RankFolder*>& a,
                  const std::vector<const RankFolder*>& b) {
  return a.size() == 1 && b.size() == 1 && (a[0]->is_process || b[0]->is_process);
}

using ByStep = std::map<std::string, std::vector<const RankFolder*>>;

ByStep GroupBySteps(const DumpTree& tree) {
  ByStep out;
  for (const RankFolder& rank : tree.ranks) {
    // Two steps given directly are compared with each other whatever their numbers.
    out[tree.granularity == Granularity::kStep ? std::string() : rank.step_name].push_back(&rank);
  }
  return out;
}

void NoteMissing(const RankFolder& rank, std::string_view side, PairedTrees* out) {
  out->notes.push_back(base::Concat(rank.path, " has no partner in the ", side, " dump, skipped"));
}

Status PairStep(const std::vector<const RankFolder*>& target,
                const std::vector<const RankFolder*>& golden, PairedTrees* out) {
  if (MayPairAlone(target, golden)) {
    out->pairs.push_back({*target[0], *golden[0]});
    return Status::Ok();
  }
  std::map<int64_t, const RankFolder*> by_number;
  for (const RankFolder* rank : golden) {
    if (!by_number.emplace(rank->rank, rank).second) {
      return base::InvalidArgumentError(
          base::Concat("several folders next to ", rank->path,
                       " belong to one rank; give one of them as the path"));
    }
  }
  for (const RankFolder* rank : target) {
    const auto found = by_number.find(rank->rank);
    if (found == by_number.end()) {
      NoteMissing(*rank, "golden", out);
      continue;
    }
    out->pairs.push_back({*rank, *found->second});
    by_number.erase(found);
  }
  for (const auto& [number, rank] : by_number) NoteMissing(*rank, "target", out);
  return Status::Ok();
}

}  // namespace

int64_t NumberBehind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return kOtherName;
  name.remove_prefix(prefix.size());
  if (name.empty()) return kNoNumber;
  const auto number = base::ParseUint64(name);
  if (!number || *number > static_cast<uint64_t>(INT64_MAX)) return kOtherName;
  return static_cast<int64_t>(*number);
}

std::string_view GranularityText(Granularity granularity) {
  switch (granularity) {
    case Granularity::kFile:
      return "one file";
    case Granularity::kRank:
      return "one rank";
    case Granularity::kStep:
      return "the ranks of one step";
    case Granularity::kRoot:
      return "the steps of a dump";
    case Granularity::kMixedRoot:
      return "graph and pynative folders";
  }
  return "";
}

Result<DumpTree> FindDumps(const std::string& path) {
  DumpTree tree;
  tree.path = path;
  if (!base::PathExists(path)) return base::NotFoundError(base::Concat("no such path: ", path));
  if (!base::IsDirectory(path)) {
    tree.granularity = Granularity::kFile;
    RankFolder& rank = tree.ranks.emplace_back();
    rank.path = path;
    rank.rank_name = base::BaseName(path);
    return tree;
  }
  if (HasDump(path)) {
    const std::string absolute = base::AbsolutePath(path);
    tree.granularity = Granularity::kRank;
    RankFolder rank =
        MakeRank(std::string(base::DirName(absolute)), std::string(base::BaseName(absolute)));
    rank.path = path;
    const int64_t step = NumberBehind(base::BaseName(base::DirName(absolute)), "step");
    rank.step = std::max<int64_t>(step, 0);
    tree.ranks.push_back(std::move(rank));
    return tree;
  }
  for (const char* folder : {"graph", "pynative"}) {
    const std::string below = base::JoinPath(path, folder);
    if (!base::IsDirectory(below)) continue;
    tree.granularity = Granularity::kMixedRoot;
    SONDE_RETURN_IF_ERROR(AddSteps(below, base::Concat(folder, "/"), &tree).status());
  }
  if (tree.granularity != Granularity::kMixedRoot) {
    SONDE_ASSIGN_OR_RETURN(const bool has_steps, AddSteps(path, "", &tree));
    tree.granularity = has_steps ? Granularity::kRoot : Granularity::kStep;
    if (!has_steps) {
      SONDE_ASSIGN_OR_RETURN(tree.ranks, RanksOf(path));
      const int64_t step = NumberBehind(base::BaseName(base::AbsolutePath(path)), "step");
      for (RankFolder& rank : tree.ranks) rank.step = std::max<int64_t>(step, 0);
    }
  }
  if (tree.ranks.empty()) {
    return base::NotFoundError(base::Concat(
        "no dump in ", path,
        " (wanted: dump.json or debug.json in it, in rank<N> or proc<PID> folders, or in those of "
        "step<N> folders)"));
  }
  return tree;
}

Result<PairedTrees> PairTrees(const DumpTree& target, const DumpTree& golden) {
  if (target.granularity != golden.granularity) {
    return base::InvalidArgumentError(
        base::Concat("the two paths must be of the same kind: ", target.path, " is ",
                     GranularityText(target.granularity), ", ", golden.path, " is ",
                     GranularityText(golden.granularity)));
  }
  PairedTrees out;
  if (target.granularity == Granularity::kFile || target.granularity == Granularity::kRank) {
    out.pairs.push_back({target.ranks[0], golden.ranks[0]});
    return out;
  }
  const ByStep targets = GroupBySteps(target);
  const ByStep goldens = GroupBySteps(golden);
  for (const auto& [step, ranks] : targets) {
    const auto found = goldens.find(step);
    if (found == goldens.end()) {
      for (const RankFolder* rank : ranks) NoteMissing(*rank, "golden", &out);
      continue;
    }
    SONDE_RETURN_IF_ERROR(PairStep(ranks, found->second, &out));
  }
  for (const auto& [step, ranks] : goldens) {
    if (targets.contains(step)) continue;
    for (const RankFolder* rank : ranks) NoteMissing(*rank, "target", &out);
  }
  if (out.pairs.empty()) {
    return base::InvalidArgumentError(
        base::Concat("no step and rank that both ", target.path, " and ", golden.path, " have"));
  }
  std::stable_sort(out.pairs.begin(), out.pairs.end(), [](const RankPair& a, const RankPair& b) {
    return a.target.step < b.target.step;
  });
  return out;
}

}  // namespace sonde::precision
