#include "precision/kernels/kernel_overflow.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/json_scanner.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_flow.h"
#include "report/text_table.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

constexpr std::string_view kRecordPrefix = "Opdebug.Node_OpDebug.";
constexpr int64_t kOverflowOnly = 3;  // op_debug_mode; 1 and 2 are turned into it

struct OverflowRow {
  int64_t time = 0;
  std::string kernel;
  std::string reason;
  std::string file;
};

// One unit of a device's record.
struct UnitStatus {
  int64_t stream = -1;
  int64_t task = -1;
  int64_t status = 0;
};

UnitStatus ReadUnit(JsonScanner* json) {
  UnitStatus out;
  json->BeginObject();
  for (std::string_view key; json->NextKey(&key);) {
    int64_t* const field = key == "stream_id" ? &out.stream
                           : key == "task_id" ? &out.task
                           : key == "status"  ? &out.status
                                              : nullptr;
    const std::string_view raw = json->SkipValue();
    if (field != nullptr) *field = base::ParseInt64(raw).value_or(*field);
  }
  return out;
}

// The names of the dump files of a folder by (task, stream).
using FilesByTask = std::map<std::pair<int64_t, int64_t>, std::string>;

FilesByTask TasksOf(const std::vector<base::DirectoryEntry>& entries) {
  FilesByTask out;
  for (const base::DirectoryEntry& entry : entries) {
    const std::vector<std::string_view> parts = base::Split(entry.name, '.');
    if (parts.size() < 5 || entry.name.starts_with(kRecordPrefix)) continue;
    const auto task = base::ParseInt64(parts[2]);
    const auto stream = base::ParseInt64(parts[3]);
    if (task && stream) out.try_emplace({*task, *stream}, parts[1]);
  }
  return out;
}

// Where the name has them: "Opdebug.Node_OpDebug.<task>.<stream>.<time>...".
int64_t TimeOfRecord(std::string_view name) {
  const std::vector<std::string_view> parts = base::Split(name, '.');
  return parts.size() > 4 ? base::ParseInt64(parts[4]).value_or(0) : 0;
}

Status AddRecord(const std::string& path, const FilesByTask& files,
                 std::vector<OverflowRow>* rows) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  JsonScanner json(text, path);
  if (json.Peek() != JsonScanner::Kind::kObject) json.Fail("expected an object");
  json.BeginObject();
  for (std::string_view unit; json.NextKey(&unit);) {
    if (json.Peek() != JsonScanner::Kind::kObject) {
      json.SkipValue();
      continue;
    }
    const std::string name(unit);
    const UnitStatus found = ReadUnit(&json);
    if (found.status == 0) continue;
    const auto file = files.find({found.task, found.stream});
    char status[32];
    std::snprintf(status, sizeof(status), "0x%llx", static_cast<unsigned long long>(found.status));
    rows->push_back({TimeOfRecord(base::BaseName(path)),
                     file != files.end() ? file->second
                                         : Concat("task ", std::to_string(found.task),
                                                  " of stream ", std::to_string(found.stream)),
                     Concat("the device's record: status ", status, " of ", name), path});
  }
  return json.status();
}

struct FolderRecords {
  std::vector<OverflowRow> rows;
  uint64_t binary = 0;  // records that are not converted to JSON
};

Status AddRecords(const std::string& folder, FolderRecords* out) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
  const FilesByTask files = TasksOf(entries);
  std::set<std::string, std::less<>> names;
  for (const base::DirectoryEntry& entry : entries) names.insert(entry.name);
  for (const std::string& name : names) {
    if (!name.starts_with(kRecordPrefix)) continue;
    if (name.ends_with(".json")) {
      SONDE_RETURN_IF_ERROR(AddRecord(JoinPath(folder, name), files, &out->rows));
      continue;
    }
    const auto converted = names.lower_bound(name + ".output.");
    if (converted == names.end() || !converted->starts_with(name + ".output.")) ++out->binary;
  }
  return Status::Ok();
}

bool HasFiniteRange(const KernelTensor& tensor) {
  return std::isfinite(tensor.statistics[0]) && std::isfinite(tensor.statistics[1]);
}

// Kernels by their values.
void AddByValues(const KernelFlow& flow, std::vector<OverflowRow>* rows) {
  for (const KernelCall& call : flow.calls) {
    bool inputs_finite = true;
    const KernelTensor* bad = nullptr;
    for (const KernelTensor& tensor : call.tensors) {
      if (HasFiniteRange(tensor)) continue;
      if (!tensor.is_output) inputs_finite = false;
      if (tensor.is_output && bad == nullptr) bad = &tensor;
    }
    if (!inputs_finite || bad == nullptr) continue;
    rows->push_back(
        {call.time, call.scope,
         Concat("finite inputs, infinities or NaN in output ", std::to_string(bad->slot)),
         bad->path});
  }
}

// A member of an object in a JSON file; empty: the file or the member is not there.
Result<std::string> MemberOf(const std::string& path, std::string_view object,
                             std::string_view member) {
  std::string out;
  if (!base::PathExists(path)) return out;
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  JsonScanner json(text, path);
  const auto search = [&](const auto& self, std::string_view in) -> void {
    if (json.Peek() != JsonScanner::Kind::kObject) {
      json.SkipValue();
      return;
    }
    json.BeginObject();
    for (std::string_view key; json.NextKey(&key);) {
      const std::string name(key);
      if (in.empty() && name == object) {
        self(self, object);
        continue;
      }
      const std::string_view raw = json.SkipValue();
      if (in == object && name == member) out = base::Trim(raw);
    }
  };
  search(search, std::string_view());
  SONDE_RETURN_IF_ERROR(json.status());
  return out;
}

// Whether only kernels with an overflow were dumped into .../rank_<N>/<net>/<graph>/<step>.
Result<bool> HoldsOverflowsOnly(const std::string& folder) {
  const std::string rank(base::DirName(base::DirName(base::DirName(folder))));
  const std::string metadata = JoinPath(rank, ".dump_metadata");
  SONDE_ASSIGN_OR_RETURN(const std::string mode, MemberOf(JoinPath(metadata, "data_dump.json"),
                                                          "common_dump_settings", "op_debug_mode"));
  const int64_t number = base::ParseInt64(mode).value_or(0);
  if (number < 1 || number > kOverflowOnly) return false;
  SONDE_ASSIGN_OR_RETURN(const std::string device,
                         MemberOf(JoinPath(metadata, "config.json"), "", "device_target"));
  return !device.empty() && device != "\"CPU\"";
}

Status AddFolders(const std::vector<std::string>& folders, std::vector<OverflowRow>* rows,
                  std::vector<std::string>* notes) {
  FolderRecords records;
  bool filtered = false;
  for (const std::string& folder : folders) {
    SONDE_RETURN_IF_ERROR(AddRecords(folder, &records));
    SONDE_ASSIGN_OR_RETURN(const bool only, HoldsOverflowsOnly(folder));
    filtered |= only;
  }
  if (records.binary > 0) {
    notes->push_back(Concat(folders.front(), " has ",
                            base::CountOf(records.binary, "overflow record"),
                            " in CANN's binary form, of which nothing is read: `msaccucmp.py "
                            "convert` makes JSON of it"));
  }
  const Result<KernelFlow> flow = ReadKernelFlow(folders, /*needs_scopes=*/false);
  if (!flow.ok()) {
    // Kernels in CANN's binary form have no values that can be read; their records have.
    if (records.rows.empty() && records.binary == 0) return flow.status();
  } else {
    if (flow->unreadable > 0) {
      notes->push_back(Concat(base::CountOf(flow->unreadable, "tensor"),
                              " could not be read, the first: ", flow->first_unreadable));
    }
    if (filtered) {
      for (const KernelCall& call : flow->calls) {
        rows->push_back(
            {call.time, call.scope, "MindSpore dumped it for its overflow", folders.front()});
      }
    } else {
      AddByValues(*flow, rows);
    }
  }
  rows->insert(rows->end(), records.rows.begin(), records.rows.end());
  std::stable_sort(rows->begin(), rows->end(),
                   [](const OverflowRow& a, const OverflowRow& b) { return a.time < b.time; });
  return Status::Ok();
}

}  // namespace

Result<OverflowOutcome> FindKernelOverflows(const std::string& input_path,
                                            const std::string& output_path) {
  SONDE_ASSIGN_OR_RETURN(const KernelTree tree, FindKernelDumps(input_path, {}, {}));
  OverflowOutcome out;
  report::TextTable table = {{"Rank", "Step", "Time(us)", "Kernel", "Reason", "File"}, {}};
  std::set<int64_t> ranks_found;
  for (const auto& [place, folders] : tree) {
    std::vector<OverflowRow> rows;
    SONDE_RETURN_IF_ERROR(AddFolders(folders, &rows, &out.notes));
    for (const OverflowRow& row : rows) {
      table.rows.push_back({std::to_string(place.first), std::to_string(place.second),
                            std::to_string(row.time), row.kernel, row.reason, row.file});
    }
    if (rows.empty() || !ranks_found.insert(place.first).second) continue;
    out.found.push_back(Concat("rank ", std::to_string(place.first), " step ",
                               std::to_string(place.second), ": ", rows.front().kernel, " (",
                               rows.front().reason, ")"));
  }
  if (out.found.empty()) return out;
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(output_path));
  SONDE_ASSIGN_OR_RETURN(
      out.file, report::WriteTextTable(
                    table, JoinPath(output_path, Concat("overflow_kernels_", report::TimeStamp())),
                    /*xlsx=*/false));
  return out;
}

}  // namespace sonde::precision
