#include "importers/mindspore/files.h"

#include "base/files.h"
#include "base/strings.h"

namespace sonde::importers::mindspore {
namespace {

using base::JoinPath;

void Sort(const SpanFile& file, Files& files) {
  const std::string_view name = base::BaseName(file.path);
  const auto is = [&](std::string_view begin, std::string_view end) {
    return name.starts_with(begin) && name.ends_with(end);
  };
  if (is("cpu_op_execute_timestamp_", ".txt")) {
    files.operators.push_back(file);
  } else if (is("cpu_framework_", ".txt")) {
    files.launches.push_back(file);
  } else if (is("cpu_ms_memory_record_", ".txt")) {
    files.memory.push_back(file);
  } else if (is("cpu_op_", ".csv")) {
    files.tables.push_back(file);
  } else if (is("RuntimeProfilerDetail", ".csv")) {
    files.runtime.push_back(file);
  } else if (is("RuntimeProfilerJson", ".json")) {
    files.runtime_json.push_back(file);
  } else if (name == "mindspore.op_range") {
    files.op_ranges.push_back(file);
  } else {
    files.unread.push_back(file.relative);
  }
}

void Collect(const std::string& folder, const std::string& relative, Files& files) {
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return;  // no such folder
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string name =
        relative.empty() ? entry.name : base::Concat(relative, "/", entry.name);
    if (entry.kind == base::DirectoryEntry::Kind::kDirectory) {
      const bool is_part = entry.name == "FRAMEWORK" || entry.name.starts_with("PROF_");
      if (!is_part) files.unread.push_back(name + "/");
      continue;
    }
    Sort({JoinPath(folder, entry.name), name}, files);
  }
}

// Clock of the device tool's capture in the folder of the binaries.
void CollectClocks(const std::string& folder, Files& files) {
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return;
  for (const base::DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with("PROF_")) continue;
    for (const std::string_view name : {"host_start.log", "start_info", "info.json"}) {
      const std::string relative = base::Concat(entry.name, "/host/", name);
      const std::string path = JoinPath(folder, relative);
      if (base::IsRegularFile(path)) files.clocks.push_back({path, relative});
    }
    if (!files.clocks.empty()) return;
  }
}

// The number behind the last '_' of a name without its extension.
int32_t NumberAtEnd(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const auto number = base::ParseInt64(name.substr(name.rfind('_') + 1));
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int32_t>(*number) : -1;
}

}  // namespace

std::vector<std::string> Files::all() const {
  std::vector<std::string> paths;
  for (const auto* list :
       {&operators, &launches, &memory, &tables, &runtime, &runtime_json, &op_ranges, &clocks}) {
    for (const SpanFile& file : *list) paths.push_back(file.path);
  }
  return paths;
}

Files FindFiles(const std::string& path) {
  Files files;
  const std::string absolute = base::AbsolutePath(path);
  if (base::IsRegularFile(path)) {
    files.folder = std::string(base::DirName(absolute));
    Sort({path, std::string(base::BaseName(path))}, files);
    // The files that belong to the one that was named.
    const std::string name(base::BaseName(path));
    if (!files.runtime.empty()) {
      const std::string json =
          base::ReplaceAll(base::ReplaceAll(name, "Detail", "Json"), ".csv", ".json");
      const std::string runtime_json = JoinPath(files.folder, json);
      if (base::IsRegularFile(runtime_json)) files.runtime_json.push_back({runtime_json, json});
    }
  } else {
    files.folder = absolute;
    Collect(path, "", files);
    if (!files.HasTrace()) {
      Collect(JoinPath(path, "FRAMEWORK"), "FRAMEWORK", files);
      if (files.HasTrace()) files.folder = JoinPath(absolute, "FRAMEWORK");
    }
  }
  if (!files.op_ranges.empty()) CollectClocks(std::string(base::DirName(files.folder)), files);
  return files;
}

int32_t RankOf(const Files& files) {
  for (const auto* list : {&files.operators, &files.memory}) {
    for (const SpanFile& file : *list) return NumberAtEnd(base::BaseName(file.path));
  }
  // The runtime profiler writes into rank_<r>.
  const std::string_view folder = base::BaseName(files.folder);
  return folder.starts_with("rank_") ? NumberAtEnd(folder) : -1;
}

// <host>_<pid>_<time>_ascend_ms
int64_t PidOf(const Files& files) {
  std::string folder = files.folder;
  if (base::BaseName(folder) == "FRAMEWORK") folder = std::string(base::DirName(folder));
  const std::vector<std::string_view> parts = base::Split(base::BaseName(folder), '_');
  if (parts.size() < 5 || parts.back() != "ms") return 0;
  return base::ParseInt64(parts[parts.size() - 4]).value_or(0);
}

}  // namespace sonde::importers::mindspore
