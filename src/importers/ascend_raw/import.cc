#include "importers/ascend_raw/import.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "importers/ascend/groups.h"
#include "importers/ascend/keep_files.h"
#include "importers/ascend/machine.h"
#include "importers/ascend_raw/beside_export.h"
#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/device_part.h"
#include "importers/ascend_raw/device_rows.h"
#include "importers/ascend_raw/files.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/host_facts.h"
#include "importers/ascend_raw/host_layer.h"
#include "importers/ascend_raw/host_usage.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/marks.h"
#include "importers/ascend_raw/os_calls.h"
#include "importers/ascend_raw/system_usage.h"
#include "importers/common/part_file.h"
#include "importers/mindspore/files.h"

namespace sonde::importers {
namespace {

bool HasContent(const std::vector<SpanFile>& files) {
  return std::any_of(files.begin(), files.end(), [](const SpanFile& file) {
    return base::FileSize(file.path).value_or(0) > 0;
  });
}

// The list of its events is closed: an analysis that fails in the middle leaves it open. Such a
// list of torch_npu's begins with '['.
bool IsClosed(const std::string& timeline) {
  const auto file = base::MappedFile::Open(timeline);
  if (!file.ok()) return false;
  const std::string_view text = base::Trim(file->text());
  return !text.empty() && text.back() == (text.front() == '[' ? ']' : '}');
}

// What a failed analysis left is no result, whatever it says of itself.
bool HasFinished(const std::string& path) {
  const AscendSpan span = FindSpan(path);
  if (!span.databases.empty() || !span.analysis.empty()) return true;
  const bool is_all_open = span.tables.empty() && span.texts.empty() && !span.timelines.empty() &&
                           std::none_of(span.timelines.begin(), span.timelines.end(),
                                        [](const SpanFile& file) { return IsClosed(file.path); });
  return span.has_texts() && !is_all_open;
}

// Texts of the device tool do not cover the framework, whose records are in the same folder. Where
// the records of host and device are there, too, everything is read from records, and so joined.
bool RecordsHoldMore(const raw::Files& files, const std::string& path) {
  const AscendSpan span = FindSpan(path);
  return span.databases.empty() && !FrameworkRecordsNextTo(span).empty() && !files.profs.empty() &&
         std::all_of(files.profs.begin(), files.profs.end(),
                     [](const raw::Prof& prof) { return prof.IsWhole(); });
}

class RawImport {
 public:
  RawImport(const raw::Files& files, TraceRows& rows)
      : files_(files), rows_(rows), framework_(rows) {}

  void Run() {
    ReadFramework();
    for (const raw::Prof& prof : files_.profs) {
      if (prof.HasData()) ReadProf(prof);
    }
    AscendSpan others;
    others.folder = files_.folder;
    others.unread = std::move(unread_);
    CountUnread(others, rows_.issues);
  }

 private:
  void ReadFramework() {
    const raw::Clock clock = raw::FrameworkClockOf(files_.folder);
    if (!files_.framework.empty()) CheckClock(clock, "FRAMEWORK");
    for (const SpanFile& file : files_.framework) {
      const auto content = OpenPart(file.path, file.relative, rows_.issues, /*is_binary=*/true);
      if (!content) continue;
      if (!framework_.Read({file.relative, content->text(), rows_.issues}, clock)) {
        unread_.push_back(file.relative);
      }
    }
    framework_.Finish();
  }

  void CheckClock(const raw::Clock& clock, std::string_view where) {
    if (!clock.is_known) rows_.issues.Add(raw::kNoClock, where);
    if (clock.is_known && !clock.wall) rows_.issues.Add(raw::kNoWallClock, where);
  }

  void ReadProf(const raw::Prof& prof) {
    const raw::Clock clock = raw::HostClockOf(prof.folder).value_or(raw::Clock());
    bool is_v6 = false;
    for (const raw::ProfPart& part : prof.parts) {
      const int64_t chip = raw::DeviceInfoOf(part.folder, part.device).chip;
      is_v6 |= raw::Chip{chip}.is_v6();
      if (part.device >= 0) ascend::AddChip(part.device, chip, rows_);
    }
    ascend::AddMachineOfProf(prof.folder, rows_);
    for (const raw::ProfPart& part : prof.parts) {
      for (const std::string& name : part.others) LeaveUnread(part, name);
    }
    raw::HostLayer host(rows_, clock, is_v6);
    raw::Marks marks(rows_, clock);
    raw::HostFacts facts(rows_, clock);
    const int64_t pid = framework_.is_empty() ? raw::PidOf(prof.folder) : framework_.pid();
    for (const raw::ProfPart& part : prof.parts) {
      if (part.device < 0) ReadHost(part, clock, pid, host, marks, facts);
    }
    host.Build(pid);
    marks.Build(host.dictionary());
    facts.Build(host, pid);
    raw::DeviceTables tables(rows_, host, framework_, pid);
    for (const raw::ProfPart& part : prof.parts) {
      if (part.device >= 0) ReadDevice(part, clock, host, marks, facts, tables, pid);
    }
    tables.Finish();
  }

  void ReadHost(const raw::ProfPart& part, const raw::Clock& clock, int64_t pid,
                raw::HostLayer& host, raw::Marks& marks, raw::HostFacts& facts) {
    CheckClock(clock, part.relative);
    raw::HostUsage usage(rows_, clock, part.folder, pid);
    raw::OsCalls calls(rows_, clock, pid);
    raw::SystemUsage system(
        rows_, [&clock](int64_t ns) { return clock.FromMonotonic(ns); }, store::kNone, pid);
    for (const raw::Stream& stream : part.streams) {
      if (!host.Read(stream) && !marks.Read(stream) && !facts.Read(stream) && !usage.Read(stream) &&
          !system.Read(stream) && !calls.Read(stream)) {
        LeaveUnread(part, stream.name);
      }
    }
  }

  void ReadDevice(const raw::ProfPart& part, const raw::Clock& host_clock, raw::HostLayer& host,
                  const raw::Marks& marks, const raw::HostFacts& facts, raw::DeviceTables& tables,
                  int64_t pid) {
    const raw::Chip chip{raw::DeviceInfoOf(part.folder, part.device).chip};
    const auto clock = raw::DeviceClockOf(part.folder, part.device, host_clock);
    if (!clock || (!chip.is_stars() && !chip.is_hwts())) {
      rows_.issues.Add(clock ? raw::kOldChip : raw::kNoDeviceClock, part.relative);
      return;
    }
    raw::DevicePart device(rows_, *clock, chip, part, host_clock, pid);
    for (const raw::Stream& stream : part.streams) {
      if (!device.Read(stream, host.expands_streams())) LeaveUnread(part, stream.name);
    }
    device.Build(host, facts, marks, tables);
  }

  void LeaveUnread(const raw::ProfPart& part, std::string_view name) {
    unread_.push_back(base::Concat(part.relative, "/data/", name));
  }

  const raw::Files& files_;
  TraceRows& rows_;
  raw::FrameworkLayer framework_;
  std::vector<std::string> unread_;
};

}  // namespace

bool IsAscendRaw(const std::string& path) {
  const raw::Files files = raw::FindFiles(path);
  const bool has_data = HasContent(files.framework) ||
                        std::any_of(files.profs.begin(), files.profs.end(),
                                    [](const raw::Prof& prof) { return prof.HasData(); });
  if (!has_data) return false;
  if (HasFinished(path) && !raw::PrefersRaw() && !RecordsHoldMore(files, path)) return false;
  // MindSpore's records have a reader of their own.
  return !files.framework.empty() || !mindspore::FindFiles(path).HasTrace();
}

bool AscendRawLacksResults(const std::string& path) { return !HasFinished(path); }

Result<int32_t> AscendRawRank(const std::string& path) { return SpanRank(FindSpan(path)); }

Result<int64_t> AscendRawStamp(const std::string& path) {
  uint64_t stamp = 0;
  for (const std::string& file : raw::FindFiles(path).all()) {
    stamp = base::HashString(base::BaseName(file), stamp);
    stamp = base::HashCombine(stamp, PartStamp(file));
  }
  return static_cast<int64_t>(stamp);
}

void ReadAscendRaw(const std::string& path, TraceRows& rows) {
  const raw::Files files = raw::FindFiles(path);
  rows.rank = SpanRank(FindSpan(path));
  rows.source = files.framework.empty() ? "PROF" : files.framework.front().relative;
  ReadSpanMetadata(files.folder, rows);
  RawImport(files, rows).Run();
  ComputeWaits(rows);
  ascend::NameHostOfMetadata(rows);
  for (store::ProcessRow& process : rows.processes) process.rank = rows.rank;
  if (rows.rank >= 0) rows.AddJson("rank", std::to_string(rows.rank));
  for (GroupFact& group : rows.groups) group.process_id = rows.processes.empty() ? -1 : 0;
}

Result<ImportSummary> ImportAscendRaw(const std::string& path, store::Store& store,
                                      const ImportOptions& /*options*/) {
  TraceRows rows(std::string(base::DirName(store.path())));
  ReadAscendRaw(path, rows);
  rows.issues.AddGarbled(rows.names, rows.source);
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(KeepTexts(raw::FindFiles(path).metadata, rows.issues, transaction));
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, rows.Write(transaction));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

}  // namespace sonde::importers
