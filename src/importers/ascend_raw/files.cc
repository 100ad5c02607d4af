#include "importers/ascend_raw/files.h"

#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;
using base::JoinPath;

std::vector<base::DirectoryEntry> EntriesOf(const std::string& folder) {
  auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return {};  // not there: nothing lies in it
  return *std::move(entries);
}

void TakeFramework(const std::string& folder, Files& files) {
  for (const base::DirectoryEntry& entry : EntriesOf(JoinPath(folder, "FRAMEWORK"))) {
    if (!entry.name.starts_with("torch.")) continue;
    const std::string relative = Concat("FRAMEWORK/", entry.name);
    files.framework.push_back({JoinPath(folder, relative), relative});
  }
}

void TakeClocks(const std::string& folder, const std::string& prefix, Files& files) {
  for (const base::DirectoryEntry& part : EntriesOf(folder)) {
    if (part.name != "host" && !part.name.starts_with("device_")) continue;
    for (const base::DirectoryEntry& entry : EntriesOf(JoinPath(folder, part.name))) {
      for (const std::string_view known : {"info.json", "sample.json", "start_info", "end_info",
                                           "host_start.log", "dev_start.log"}) {
        if (!entry.name.starts_with(known) || entry.name.ends_with(".done")) continue;
        const std::string relative = Concat(prefix, part.name, "/", entry.name);
        files.clocks.push_back({JoinPath(files.folder, relative), relative});
      }
    }
  }
}

}  // namespace

std::vector<std::string> Files::all() const {
  std::vector<std::string> paths;
  for (const auto* list : {&framework, &clocks, &metadata}) {
    for (const SpanFile& file : *list) paths.push_back(file.path);
  }
  return paths;
}

Files FindFiles(const std::string& path) {
  Files files;
  if (!base::IsDirectory(path)) return files;
  files.folder = base::AbsolutePath(path);
  TakeFramework(files.folder, files);
  for (const base::DirectoryEntry& entry : EntriesOf(files.folder)) {
    const std::string_view name = entry.name;
    if (name.starts_with("PROF_")) {
      TakeClocks(JoinPath(files.folder, name), Concat(name, "/"), files);
    } else if (name.ends_with(".json") && name.starts_with("profiler_")) {
      files.metadata.push_back({JoinPath(files.folder, name), entry.name});
    }
  }
  return files;
}

bool PrefersRaw() {
  const char* value = ::getenv("SONDE_ASCEND_RAW");
  return value != nullptr && (std::string_view(value) == "1" || std::string_view(value) == "true");
}

}  // namespace sonde::importers::raw
