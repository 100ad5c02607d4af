#include "precision/dump/dump_folder.h"

#include "base/files.h"
#include "base/host/parallel.h"

namespace sonde::precision {

Result<DumpFolder> LoadDumpFolder(const std::string& dump_path, const std::string& stack_path) {
  DumpFolder out;
  SONDE_ASSIGN_OR_RETURN(out.dump, DumpFile::Load(dump_path));
  const std::string folder(base::DirName(dump_path));
  SONDE_ASSIGN_OR_RETURN(
      out.stack, StackFile::LoadIfPresent(stack_path.empty() ? base::JoinPath(folder, "stack.json")
                                                             : stack_path));
  SONDE_ASSIGN_OR_RETURN(out.construct,
                         ConstructFile::LoadIfPresent(base::JoinPath(folder, "construct.json")));
  return out;
}

Result<DumpPair> LoadDumpPair(const std::string& target_path, const std::string& target_stack_path,
                              const std::string& golden_path) {
  Result<DumpFolder> target = base::InternalError("not loaded");
  Result<DumpFolder> golden = base::InternalError("not loaded");
  base::TaskGroup loading;
  loading.Run([&] { target = LoadDumpFolder(target_path, target_stack_path); });
  loading.Run([&] { golden = LoadDumpFolder(golden_path, ""); });
  loading.Wait();
  SONDE_RETURN_IF_ERROR(target.status());
  SONDE_RETURN_IF_ERROR(golden.status());
  return DumpPair{std::move(target).value(), std::move(golden).value()};
}

}  // namespace sonde::precision
