#include "precision/dump/dump_folder.h"

#include <algorithm>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

std::string CutOff(const std::string& path, size_t entries) {
  return base::Concat(path, " ends in the middle of an entry, as after a kill while it was written",
                      ": the ",
                      base::CountOf(entries, "entry before is used", "entries before are used"));
}

bool KnowsAnyCall(const StackFile& stacks, const DumpFile& dump) {
  return std::any_of(dump.apis().begin(), dump.apis().end(), [&stacks](const DumpApi& api) {
    return stacks.Find(api.name) != StackFile::kNoStack;
  });
}

}  // namespace

Result<DumpFolder> LoadDumpFolder(const std::string& dump_path, const std::string& stack_path,
                                  std::vector<std::string>* notes) {
  const std::string folder(base::DirName(dump_path));
  if (!stack_path.empty() && !base::PathExists(stack_path)) {
    return base::NotFoundError(base::Concat("stack_path: there is no file ", stack_path));
  }
  const std::string stack = stack_path.empty() ? base::JoinPath(folder, "stack.json") : stack_path;
  const std::string tree = base::JoinPath(folder, "construct.json");
  Result<std::unique_ptr<StackFile>> stacks = base::InternalError("not loaded");
  Result<std::unique_ptr<ConstructFile>> construct = base::InternalError("not loaded");
  base::TaskGroup background;
  background.Run([&] {
    stacks = StackFile::LoadIfPresent(stack);
    construct = ConstructFile::LoadIfPresent(tree);
  });
  Result<std::unique_ptr<DumpFile>> dump = DumpFile::Load(dump_path);
  background.Wait();
  SONDE_RETURN_IF_ERROR(dump.status());
  SONDE_RETURN_IF_ERROR(stacks.status());
  SONDE_RETURN_IF_ERROR(construct.status());
  if (!stack_path.empty() && !(*dump)->apis().empty() && !KnowsAnyCall(**stacks, **dump)) {
    notes->push_back(
        base::Concat("stack_path: ", stack_path, " has none of the calls of ", dump_path));
  }
  if ((*dump)->is_cut_off()) notes->push_back(CutOff(dump_path, (*dump)->apis().size()));
  if ((*construct)->is_cut_off()) {
    notes->push_back(CutOff(tree, (*construct)->entries().size()));
  }
  return DumpFolder{std::move(dump).value(), std::move(stacks).value(),
                    std::move(construct).value()};
}

Result<DumpPair> LoadDumpPair(const std::string& target_path, const std::string& target_stack_path,
                              const std::string& golden_path, std::vector<std::string>* notes) {
  std::vector<std::string> golden_notes;
  Result<DumpFolder> target = base::InternalError("not loaded");
  Result<DumpFolder> golden = base::InternalError("not loaded");
  base::TaskGroup loading;
  loading.Run([&] { target = LoadDumpFolder(target_path, target_stack_path, notes); });
  loading.Run([&] { golden = LoadDumpFolder(golden_path, "", &golden_notes); });
  loading.Wait();
  notes->insert(notes->end(), golden_notes.begin(), golden_notes.end());
  SONDE_RETURN_IF_ERROR(target.status());
  SONDE_RETURN_IF_ERROR(golden.status());
  return DumpPair{std::move(target).value(), std::move(golden).value()};
}

}  // namespace sonde::precision
