#include "precision/kernels/kernel_sides.h"

#include <algorithm>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/dump_tree.h"
#include "precision/kernels/kernel_calls.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_flow.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

std::string PlaceFolder(int64_t step, int64_t rank) {
  return Concat("step", std::to_string(step), "/rank", std::to_string(rank));
}

// The new folder: filled under another name, and there only when it is whole.
Result<base::AtomicDirectory> NewFolder(const std::string& output_path) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(output_path));
  return base::AtomicDirectory::Create(
      JoinPath(output_path, Concat("kernels_", report::TimeStamp())));
}

// A file stands for its folder, so that its step and rank are known.
Result<DumpTree> FindCalls(const std::string& path) {
  if (base::PathExists(path) && !base::IsDirectory(path)) {
    return FindDumps(std::string(base::DirName(base::AbsolutePath(path))));
  }
  return FindDumps(path);
}

// The kernels of a rank and step; where either side has only one, these two.
const std::vector<std::string>* KernelsOf(const KernelTree& tree, const DumpTree& dumps,
                                          const RankFolder& rank) {
  if (tree.size() == 1 && dumps.ranks.size() == 1) return &tree.begin()->second;
  const auto found = tree.find({std::max<int64_t>(rank.rank, 0), rank.step});
  return found == tree.end() ? nullptr : &found->second;
}

void NoteUnreadable(const KernelFlow& flow, std::vector<std::string>* notes) {
  if (flow.unreadable == 0) return;
  notes->push_back(
      Concat(base::CountOf(flow.unreadable, "tensor"),
             " of kernels could not be read, left out, the first: ", flow.first_unreadable));
}

Status WriteCallsOf(const std::string& path, const std::string& folder,
                    std::vector<std::string>* notes) {
  SONDE_ASSIGN_OR_RETURN(const KernelTree tree, FindKernelDumps(path, {}, {}));
  for (const auto& [place, folders] : tree) {
    SONDE_ASSIGN_OR_RETURN(const KernelFlow flow, ReadKernelFlow(folders));
    NoteUnreadable(flow, notes);
    SONDE_RETURN_IF_ERROR(
        WriteKernelCalls(flow, JoinPath(folder, PlaceFolder(place.second, place.first))));
  }
  return Status::Ok();
}

}  // namespace

Result<KernelSides> JoinKernelSides(const std::string& target, const std::string& golden,
                                    const std::string& output_path) {
  const bool target_is_kernels = HoldsKernelsOnly(target);
  const std::string& kernels = target_is_kernels ? target : golden;
  SONDE_ASSIGN_OR_RETURN(const KernelTree tree, FindKernelDumps(kernels, {}, {}));
  SONDE_ASSIGN_OR_RETURN(const DumpTree dumps, FindCalls(target_is_kernels ? golden : target));
  SONDE_ASSIGN_OR_RETURN(base::AtomicDirectory folder, NewFolder(output_path));
  const std::string side = folder.temporary_path();
  KernelSides out;
  Status first_failure =
      base::NotFoundError(Concat("no step and rank that both ", target, " and ", golden, " have"));
  size_t written = 0;
  for (const RankFolder& rank : dumps.ranks) {
    const std::vector<std::string>* folders = KernelsOf(tree, dumps, rank);
    if (folders == nullptr) {
      out.notes.push_back(Concat(rank.path, " has no partner in ", kernels, ", skipped"));
      continue;
    }
    const std::string place = PlaceFolder(rank.step, std::max<int64_t>(rank.rank, 0));
    Status status;
    const Result<KernelFlow> flow = ReadKernelFlow(*folders);
    status = flow.status();
    if (status.ok()) {
      NoteUnreadable(*flow, &out.notes);
      const std::string of_target = JoinPath(JoinPath(side, "target"), place);
      const std::string of_golden = JoinPath(JoinPath(side, "golden"), place);
      status = WriteJoinedCalls(*flow, rank.path, target_is_kernels ? of_target : of_golden,
                                target_is_kernels ? of_golden : of_target, &out.notes);
    }
    written += status.ok() ? 1 : 0;
    if (status.ok()) continue;
    if (written == 0) first_failure = status;
    if (dumps.ranks.size() > 1) {
      out.notes.push_back(Concat(rank.path, " is left out: ", status.message()));
    }
  }
  if (written == 0) return first_failure;
  SONDE_RETURN_IF_ERROR(folder.Commit());
  out.target = JoinPath(folder.path(), "target");
  out.golden = JoinPath(folder.path(), "golden");
  return out;
}

Result<KernelSides> KernelsAsCalls(const std::string& target, const std::string& golden,
                                   const std::string& output_path) {
  SONDE_ASSIGN_OR_RETURN(base::AtomicDirectory folder, NewFolder(output_path));
  KernelSides out;
  const std::string side = folder.temporary_path();
  SONDE_RETURN_IF_ERROR(WriteCallsOf(target, JoinPath(side, "target"), &out.notes));
  if (!golden.empty()) {
    SONDE_RETURN_IF_ERROR(WriteCallsOf(golden, JoinPath(side, "golden"), &out.notes));
  }
  SONDE_RETURN_IF_ERROR(folder.Commit());
  out.target = JoinPath(folder.path(), "target");
  if (!golden.empty()) out.golden = JoinPath(folder.path(), "golden");
  return out;
}

Result<KernelSides> ReadKernelSides(const std::string& target, const std::string& golden,
                                    const std::string& output_path) {
  const bool target_is_kernels = HoldsKernelsOnly(target);
  const bool golden_is_kernels = !golden.empty() && HoldsKernelsOnly(golden);
  if (!target_is_kernels && !golden_is_kernels) return KernelSides{target, golden, {}};
  if (golden.empty() || target_is_kernels == golden_is_kernels) {
    return KernelsAsCalls(target, golden, output_path);
  }
  return JoinKernelSides(target, golden, output_path);
}

}  // namespace sonde::precision
