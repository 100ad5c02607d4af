#include "importers/ascend_raw/files.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;
using base::JoinPath;

std::vector<base::DirectoryEntry> EntriesOf(const std::string& folder) {
  auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return {};  // no such folder
  return *std::move(entries);
}

void TakeFramework(const std::string& folder, Files& files) {
  for (const base::DirectoryEntry& entry : EntriesOf(JoinPath(folder, "FRAMEWORK"))) {
    if (!entry.name.starts_with("torch.")) continue;
    const std::string relative = Concat("FRAMEWORK/", entry.name);
    files.framework.push_back({JoinPath(folder, relative), relative});
  }
}

// "stars_soc.data.0.slice_12" -> ("stars_soc.data", 12) in the folder of a device.
std::optional<std::pair<std::string, int64_t>> SliceOf(std::string_view file, bool is_device) {
  constexpr std::string_view kMark = ".slice_";
  const size_t mark = file.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const auto number = base::ParseInt64(file.substr(mark + kMark.size()));
  if (!number || *number < 0) return std::nullopt;
  std::string_view name = file.substr(0, mark);
  const size_t point = name.rfind('.');
  if (is_device && point != std::string_view::npos && base::ParseInt64(name.substr(point + 1))) {
    name = name.substr(0, point);
  }
  return std::pair(std::string(name), *number);
}

// Files that writers and readers of slices leave in the folder.
bool IsSliceMarker(std::string_view file) {
  return file.ends_with(".done") || file.ends_with(".complete") || file.ends_with(".zip");
}

void TakeStreams(ProfPart& part) {
  std::map<std::string, std::vector<Slice>> streams;
  const auto entries = EntriesOf(JoinPath(part.folder, "data"));
  std::set<std::string> names;
  for (const base::DirectoryEntry& entry : entries) names.insert(entry.name);
  for (const base::DirectoryEntry& entry : entries) {
    const auto slice = SliceOf(entry.name, part.device >= 0);
    if (!slice && !IsSliceMarker(entry.name)) part.others.push_back(entry.name);
    if (!slice) continue;
    const std::string inside = Concat("data/", entry.name);
    streams[slice->first].push_back(
        {.file = {JoinPath(part.folder, inside), Concat(part.relative, "/", inside)},
         .number = slice->second,
         .is_closed = names.contains(entry.name + ".done")});
  }
  for (auto& [name, slices] : streams) {
    std::sort(slices.begin(), slices.end(),
              [](const Slice& a, const Slice& b) { return a.number < b.number; });
    part.streams.push_back({name, std::move(slices)});
  }
}

void TakeSettings(const ProfPart& part, Files& files) {
  for (const base::DirectoryEntry& entry : EntriesOf(part.folder)) {
    for (const std::string_view known : {"info.json", "sample.json", "start_info", "end_info",
                                         "host_start.log", "dev_start.log"}) {
      if (!entry.name.starts_with(known) || entry.name.ends_with(".done")) continue;
      files.settings.push_back(
          {JoinPath(part.folder, entry.name), Concat(part.relative, "/", entry.name)});
    }
  }
}

void TakeProf(const std::string& folder, const std::string& relative, Files& files) {
  Prof prof{.folder = folder, .relative = relative, .parts = {}};
  for (const base::DirectoryEntry& entry : EntriesOf(folder)) {
    ProfPart part;
    if (entry.name.starts_with("device_")) {
      const auto number = base::ParseInt64(entry.name.substr(entry.name.rfind('_') + 1));
      if (!number || *number < 0 || *number > INT32_MAX) continue;
      part.device = static_cast<int32_t>(*number);
    } else if (entry.name != "host") {
      continue;
    }
    part.folder = JoinPath(folder, entry.name);
    part.relative = relative.empty() ? entry.name : Concat(relative, "/", entry.name);
    TakeStreams(part);
    TakeSettings(part, files);
    prof.parts.push_back(std::move(part));
  }
  // The host first: the devices' work is joined to it.
  std::stable_sort(prof.parts.begin(), prof.parts.end(),
                   [](const ProfPart& a, const ProfPart& b) { return a.device < b.device; });
  files.profs.push_back(std::move(prof));
}

bool PartHasData(const ProfPart& part) {
  return std::any_of(part.streams.begin(), part.streams.end(), [](const Stream& stream) {
    return std::any_of(stream.slices.begin(), stream.slices.end(), [](const Slice& slice) {
      return base::FileSize(slice.file.path).value_or(0) > 0;
    });
  });
}

bool IsOfHost(const ProfPart& part) { return part.device < 0; }

}  // namespace

std::vector<std::string> Files::all() const {
  std::vector<std::string> paths;
  for (const auto* list : {&framework, &settings, &metadata}) {
    for (const SpanFile& file : *list) paths.push_back(file.path);
  }
  for (const Prof& prof : profs) {
    for (const ProfPart& part : prof.parts) {
      for (const Stream& stream : part.streams) {
        for (const Slice& slice : stream.slices) paths.push_back(slice.file.path);
      }
    }
  }
  return paths;
}

bool Prof::HasData() const { return std::any_of(parts.begin(), parts.end(), PartHasData); }

bool Prof::IsWhole() const {
  const bool has_both = std::any_of(parts.begin(), parts.end(), IsOfHost) &&
                        !std::all_of(parts.begin(), parts.end(), IsOfHost);
  return has_both && std::all_of(parts.begin(), parts.end(), PartHasData);
}

Files FindFiles(const std::string& path) {
  Files files;
  if (!base::IsDirectory(path)) return files;
  files.folder = base::AbsolutePath(path);
  if (base::BaseName(files.folder).starts_with("PROF_")) {
    TakeProf(files.folder, "", files);
    return files;
  }
  TakeFramework(files.folder, files);
  bool is_span = base::IsDirectory(JoinPath(files.folder, "FRAMEWORK"));
  for (const base::DirectoryEntry& entry : EntriesOf(files.folder)) {
    const std::string_view name = entry.name;
    if (name.starts_with("PROF_")) {
      TakeProf(JoinPath(files.folder, name), entry.name, files);
    } else if (name.ends_with(".json") && name.starts_with("profiler_")) {
      files.metadata.push_back({JoinPath(files.folder, name), entry.name});
      is_span = true;
    }
  }
  // Otherwise each PROF_* is a trace of its own.
  if (!is_span) files.profs.clear();
  return files;
}

bool PrefersRaw() {
  const char* value = ::getenv("SONDE_ASCEND_RAW");
  return value != nullptr && (std::string_view(value) == "1" || std::string_view(value) == "true");
}

}  // namespace sonde::importers::raw
