#include "importers/ascend/raw_records.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend/span.h"

namespace sonde::importers {
namespace {

using base::Concat;
using base::JoinPath;

std::vector<base::DirectoryEntry> EntriesOf(const std::string& folder) {
  auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return {};  // no such folder
  return *std::move(entries);
}

bool HasContent(const std::string& folder) {
  const auto entries = EntriesOf(folder);
  return std::any_of(entries.begin(), entries.end(), [&](const base::DirectoryEntry& entry) {
    return base::FileSize(JoinPath(folder, entry.name)).value_or(0) > 0;
  });
}

// "host", "device_0": the parts of a PROF_* whose data was not exported.
std::vector<std::string> RawParts(const std::string& prof) {
  std::vector<std::string> parts;
  for (const base::DirectoryEntry& entry : EntriesOf(prof)) {
    const std::string_view name = entry.name;
    if (name == "mindstudio_profiler_output" && HasContent(JoinPath(prof, name))) return {};
    if (name.starts_with("msprof_") && name.ends_with(".db")) return {};
    if (name != "host" && !name.starts_with("device_")) continue;
    if (HasContent(JoinPath(JoinPath(prof, name), "data"))) parts.push_back(entry.name);
  }
  return parts;
}

bool IsProf(std::string_view folder) { return folder.starts_with("PROF_"); }

struct RawRecords {
  std::vector<std::string> framework;  // files
  std::vector<std::string> profs;      // "PROF_1 (host, device_0)"
  bool empty() const { return framework.empty() && profs.empty(); }
};

void TakeProf(const std::string& path, RawRecords& raw) {
  const std::vector<std::string> parts = RawParts(path);
  if (parts.empty()) return;
  raw.profs.push_back(Concat(base::BaseName(path), " (", base::Join(parts, ", "), ")"));
}

// Whether the framework's layer was analysed: its results are in a folder of their own, or were
// copied to the records' folder.
bool IsAnalysed(const AscendSpan& span) {
  const auto is_of_framework = [](const SpanFile& file) {
    const std::string_view name = file.relative;
    return name.starts_with("ASCEND_PROFILER_OUTPUT/") || name.find('/') == std::string_view::npos;
  };
  for (const auto* list :
       {&span.databases, &span.analysis, &span.tables, &span.timelines, &span.texts}) {
    if (std::any_of(list->begin(), list->end(), is_of_framework)) return true;
  }
  return false;
}

// Databases and timelines of the device tool are read together with the framework's records.
bool IsReadWithRecords(const AscendSpan& span) {
  return !span.databases.empty() || !span.timelines.empty() ||
         (!span.analysis.empty() && !span.has_texts());
}

RawRecords Find(const std::string& path) {
  RawRecords raw;
  if (!base::IsDirectory(path)) return raw;
  const std::string absolute = base::AbsolutePath(path);
  if (IsProf(base::BaseName(absolute))) {
    TakeProf(absolute, raw);
    return raw;
  }
  const std::string framework = JoinPath(absolute, "FRAMEWORK");
  for (const base::DirectoryEntry& entry : EntriesOf(framework)) {
    if (!entry.name.starts_with("torch.")) continue;
    if (base::FileSize(JoinPath(framework, entry.name)).value_or(0) == 0) continue;
    raw.framework.push_back(Concat("FRAMEWORK/", entry.name));
  }
  // Without a framework's layer each PROF_* below is examined by itself.
  if (base::IsDirectory(framework)) {
    for (const base::DirectoryEntry& entry : EntriesOf(absolute)) {
      if (IsProf(entry.name)) TakeProf(JoinPath(absolute, entry.name), raw);
    }
  }
  if (raw.empty()) return raw;
  const AscendSpan span = FindSpan(path);
  if (IsAnalysed(span)) return {};
  if (IsReadWithRecords(span)) raw.framework.clear();
  return raw;
}

}  // namespace

bool HoldsRawRecords(const std::string& path) { return !Find(path).empty(); }

std::string SayRawRecords(const std::string& path) {
  const RawRecords raw = Find(path);
  if (raw.empty()) return {};
  std::vector<std::string> what = raw.framework;
  what.insert(what.end(), raw.profs.begin(), raw.profs.end());
  const std::string absolute = base::AbsolutePath(path);
  const bool is_prof = IsProf(base::BaseName(absolute));
  const std::string_view package =
      absolute.ends_with("_ascend_ms") ? "mindspore.profiler" : "torch_npu.profiler";
  const std::string command = is_prof
                                  ? Concat("msprof --export=on --output='", absolute, "'")
                                  : Concat("python3 -c \"from ", package,
                                           ".profiler import analyse; analyse('", absolute, "')\"");
  return Concat("'", path, "' was not analysed yet, and its raw records are not read: ",
                base::Join(what, ", "),
                raw.framework.empty() ? "" : "; SONDE_ASCEND_RAW=1 reads them",
                "; where CANN is installed, type: ", command);
}

}  // namespace sonde::importers
