#include "importers/capture/import.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/json.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "importers/capture/hand_overs.h"
#include "importers/capture/issues.h"
#include "importers/capture/serving.h"
#include "importers/capture/trace.h"
#include "importers/common/part_file.h"

namespace sonde::importers {
namespace {

using base::Concat;
using namespace capture_import;  // NOLINT(google-build-using-namespace): the parts of this folder

constexpr int64_t kMaxSlices = std::numeric_limits<int32_t>::max() - 1;

struct CaptureFiles {
  std::vector<std::string> dictionaries;
  std::vector<std::string> segments;
  std::vector<std::string> rings;
  std::vector<std::string> devices;
};

bool Matches(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.ends_with(".sonde");
}

std::string CaptureFolder(const std::string& path) {
  const std::string inside = base::JoinPath(path, "SONDE");
  return base::IsDirectory(inside) ? inside : path;
}

// Once this file is next to the store, the records count as removed: leftovers of a removal that
// was killed are no capture any more.
constexpr std::string_view kRemovedMark = "records_removed";

bool AreRemoved(const std::string& folder) {
  return base::PathExists(base::JoinPath(folder, kRemovedMark)) &&
         base::IsRegularFile(base::JoinPath(folder, "trace.duckdb"));
}

Result<CaptureFiles> ListFiles(const std::string& folder) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
  CaptureFiles files;
  for (const base::DirectoryEntry& entry : entries) {
    std::vector<std::string>* list = Matches(entry.name, "dictionary_") ? &files.dictionaries
                                     : Matches(entry.name, "events_")   ? &files.segments
                                     : Matches(entry.name, "ring_")     ? &files.rings
                                     : Matches(entry.name, "device_")   ? &files.devices
                                                                        : nullptr;
    if (list != nullptr) list->push_back(base::JoinPath(folder, entry.name));
  }
  return files;
}

Result<CaptureFiles> ListCapture(const std::string& path) {
  const std::string folder = CaptureFolder(path);
  SONDE_ASSIGN_OR_RETURN(CaptureFiles files, ListFiles(folder));
  if (files.dictionaries.empty() || AreRemoved(folder)) {
    return base::NotFoundError(Concat("'", path, "' holds no capture of Sonde"));
  }
  return files;
}

std::string_view MetadataOf(const Dictionary& dictionary, std::string_view key) {
  for (const MetadataEntry& entry : dictionary.metadata) {
    if (dictionary.Name(entry.key) == key) return entry.json;
  }
  return {};
}

int32_t RankOf(const Dictionary& dictionary) {
  const auto rank = base::ParseInt64(base::Trim(MetadataOf(dictionary, "rank")));
  return rank && *rank >= 0 && *rank <= INT32_MAX ? static_cast<int32_t>(*rank) : store::kNone;
}

// Default folder names are <host>_<pid>_<time>_...; other names do not contain the host.
std::string HostOf(const std::string& path, const Dictionary& dictionary) {
  const auto text = base::JsonDocument::Parse(MetadataOf(dictionary, "host"), "metadata");
  if (text.ok() && text->root().IsString()) return text->root().AsString().value_or("");
  std::string folder = base::AbsolutePath(path);
  if (base::BaseName(folder) == "SONDE") folder = std::string(base::DirName(folder));
  const std::string_view name = base::BaseName(folder);
  const size_t pid = name.find(Concat("_", std::to_string(dictionary.pid), "_"));
  return pid == std::string_view::npos ? std::string() : std::string(name.substr(0, pid));
}

// Descriptions of groups by name, from {"name": {"group_name": "dp", ...}}.
std::map<std::string, std::string> GroupDescriptions(const Dictionary& dictionary,
                                                     store::ImportIssues& issues) {
  std::map<std::string, std::string> descriptions;
  const std::string_view json = MetadataOf(dictionary, "parallel_group_info");
  if (json.empty()) return descriptions;
  const auto document = base::JsonDocument::Parse(json, "parallel_group_info");
  if (!document.ok()) {
    issues.Add(kBadMetadata, "");
    return descriptions;
  }
  for (const auto& [name, group] : document->root().Members()) {
    const auto shown = group.GetString("group_name", "");
    if (shown.ok() && !shown->empty()) descriptions[name] = *shown;
  }
  return descriptions;
}

// The program may still record: rings, segments and dictionary are read in the order that
// ring_copy.h gives, and files are listed again after the rings were copied.
Status ReadFilesOnce(const std::string& path, CaptureTrace& trace) {
  SlotFiles slots;
  SONDE_ASSIGN_OR_RETURN(CaptureFiles files, ListCapture(path));
  slots.rings = CopyRings(files.rings, trace.issues);
  SONDE_ASSIGN_OR_RETURN(files, ListCapture(path));
  SONDE_ASSIGN_OR_RETURN(slots.segments, OpenSegments(files.segments, trace.issues));
  SONDE_ASSIGN_OR_RETURN(trace.dictionary, ReadDictionary(files.dictionaries, trace.issues));
  SONDE_ASSIGN_OR_RETURN(trace.device_records,
                         ReadDeviceFiles(files.devices, trace.dictionary, trace.issues));
  trace.slots = ReadSlots(std::move(slots), trace.dictionary.session_id, trace.issues);
  return {};
}

// Repeats the reading where a file was removed between its listing and its opening, as happens in a
// recording that keeps only its last seconds.
template <class Action>
Status TryAgainWhereGone(Action action) {
  constexpr int kAttempts = 5;
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = action();
    if (status.code() != base::StatusCode::kNotFound) break;
  }
  return status;
}

Status ReadFiles(const std::string& path, CaptureTrace& trace) {
  return TryAgainWhereGone([&] {
    trace.issues = {};
    return ReadFilesOnce(path, trace);
  });
}

void TakeNames(CaptureTrace& trace) {
  trace.unknown_name = trace.names.Intern("?");
  trace.name_ids.resize(trace.dictionary.names.size(), trace.unknown_name);
  for (size_t id = 1; id < trace.name_ids.size(); ++id) {
    const std::string_view text = trace.dictionary.names[id];
    if (text.data() != nullptr) trace.name_ids[id] = trace.names.Intern(text);
  }
}

void TakeIssues(CaptureTrace& trace) {
  const Dictionary& dictionary = trace.dictionary;
  for (const std::string_view text : dictionary.issues) {
    trace.issues.AddText(kRecorder, "", text);
  }
  if (!MetadataOf(dictionary, "detached").empty()) trace.issues.Add(kDetached, "");
  if (!dictionary.end) {
    trace.issues.Add(kNoSessionEnd, "");
  } else if (dictionary.end->reason != capture::StopReason::kStopped &&
             dictionary.end->reason != capture::StopReason::kExit) {
    trace.issues.AddText(kEnded, "", dictionary.end->message);
  }
}

// The vendor's times are real time; those of the trace stay continuous where the wall clock was
// set.
int64_t DeviceOffset(const std::vector<capture::ClockSampleEntry>& samples,
                     const TickClock& clock) {
  if (samples.empty()) return 0;
  const auto first =
      std::min_element(samples.begin(), samples.end(),
                       [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  return clock.ToNs(first->ticks) - first->realtime_ns;
}

std::optional<int64_t> SharedOffset(const Dictionary& dictionary, ClockOffsets* clocks) {
  const std::string_view boot = MetadataOf(dictionary, "boot_id");
  const std::optional<int64_t> own = TickClock::OffsetOf(dictionary.clocks);
  if (clocks == nullptr || boot.empty() || !own) return std::nullopt;
  return clocks->try_emplace(std::string(boot), *own).first->second;
}

// Ranges of the threads, with those that follow from the names and call sites of kernels.
void DecodeThreads(CaptureTrace& trace, const TickClock& clock) {
  Dictionary& dictionary = trace.dictionary;
  const KnownIds known{static_cast<uint32_t>(dictionary.names.size()),
                       static_cast<uint32_t>(dictionary.args.size()),
                       static_cast<uint32_t>(dictionary.stacks.size())};
  for (const ThreadSlots& slots : trace.slots.threads) {
    trace.stages.push_back(Decode(slots, clock, known, trace.issues));
    trace.scope_cells.AddRanges(trace.stages.back());
    trace.stages.back().thread_id = static_cast<int32_t>(trace.stages.size()) - 1;
  }
  dictionary.names.emplace_back();  // names that are not in the dictionary have this number
  trace.compiled_graphs.Apply(dictionary, trace.stages, trace.issues);
}

// Threads, nested and numbered.
Status Stage(CaptureTrace& trace, const TickClock& clock) {
  const Dictionary& dictionary = trace.dictionary;
  for (const capture::ClockSampleEntry& sample : dictionary.clocks) {  // the first one begins it
    const int64_t sampled_ns = clock.ToNs(sample.ticks);
    if (trace.recording_ns == 0 || sampled_ns < trace.recording_ns) trace.recording_ns = sampled_ns;
  }
  trace.device_offset_ns = DeviceOffset(dictionary.clocks, clock);
  std::vector<std::vector<Node>> spans = PairSpans(trace.stages, trace.issues);
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
  int64_t unknown_names = 0;
  for (size_t i = 0; i < trace.stages.size(); ++i) {
    ThreadStage& stage = trace.stages[i];
    Nest(stage, std::move(spans[i]), trace.issues);
    Number(stage, trace.tracks, trace.slices);
    if (trace.slices > kMaxSlices) {
      return base::OutOfRangeError("the capture holds more ranges than a store can number (2^31)");
    }
    for (const Node& node : stage.nodes) {
      begin = std::min(begin, node.ts);
      end = std::max(end, node.end == kOpenEnd ? node.ts : node.end);
      unknown_names += node.name != 0 && trace.NameId(node.name) == trace.unknown_name ? 1 : 0;
    }
    for (const MemoryInstant& event : stage.memory) {
      begin = std::min(begin, event.ts);
      end = std::max(end, event.ts);
    }
  }
  ResolveHandOvers(trace);
  StageDevice(trace);
  for (const DeviceTask& task : trace.device.tasks) {
    begin = std::min(begin, task.ts);
    end = std::max(end, task.end);
  }
  if (trace.slices > kMaxSlices) {
    return base::OutOfRangeError("the capture holds more ranges than a store can number (2^31)");
  }
  if (unknown_names > 0) trace.issues.Add(kUnknownId, "", -1, unknown_names);
  if (begin <= end) {
    trace.begin_ns = begin;
    trace.end_ns = end;
  }
  return {};
}

// Everything but the two large tables; interns texts, so it is one thread's work.
// `serving`, where not null, gets a server's events; else its tables are made of this capture
// alone.
Status WriteSmallTables(CaptureTrace& trace, ArgumentTable& arguments, store::Store& store,
                        ServingEvents* serving, ImportSummary& summary) {
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  const std::vector<StepRange> steps = FindSteps(trace);
  SONDE_RETURN_IF_ERROR(WriteThreads(trace, transaction));
  if (trace.device.empty()) {
    SONDE_ASSIGN_OR_RETURN(summary.device_tasks,
                           WriteCpuDeviceTasks(trace, arguments, steps, transaction));
  } else {
    SONDE_ASSIGN_OR_RETURN(summary.device_tasks, WriteDeviceTasks(trace, steps, transaction));
    SONDE_RETURN_IF_ERROR(WriteApiCalls(trace, transaction));
  }
  SONDE_ASSIGN_OR_RETURN(summary.communication_ops,
                         WriteCommunication(trace, arguments, steps, transaction));
  SONDE_ASSIGN_OR_RETURN(summary.memory_events, WriteMemory(trace, transaction));
  SONDE_ASSIGN_OR_RETURN(const int64_t flows, WriteFlows(trace, transaction));
  if (serving != nullptr) {
    *serving = FindServingEvents(trace);
  } else if (ServingEvents events = FindServingEvents(trace); !events.empty()) {
    const ServingRows rows =
        MakeServingRows({std::move(events)}, static_cast<int32_t>(flows), trace.names);
    SONDE_RETURN_IF_ERROR(WriteServingRows(rows, transaction));
  }
  SONDE_RETURN_IF_ERROR(WriteMarks(trace, transaction));
  SONDE_RETURN_IF_ERROR(WriteSteps(trace, steps, transaction));
  SONDE_RETURN_IF_ERROR(WriteCallstacks(trace, transaction));
  SONDE_RETURN_IF_ERROR(WriteMetadata(trace, transaction));
  SONDE_RETURN_IF_ERROR(arguments.Write(transaction));
  trace.issues.AddGarbled(trace.names, "");
  SONDE_RETURN_IF_ERROR(trace.issues.Write(transaction, trace.names));
  SONDE_RETURN_IF_ERROR(trace.names.Write(transaction));
  return transaction.Commit();
}

Status WriteAll(CaptureTrace& trace, ArgumentTable& arguments, store::Store& store,
                const ImportOptions& options, ServingEvents* serving, ImportSummary& summary) {
  const Categories categories(trace.names, trace.device.vendor);
  Status slices;
  Status ops;
  Status others;
  base::TaskGroup group(options.threads);
  group.Run([&] {
    slices = [&]() -> Status {
      SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
      SONDE_RETURN_IF_ERROR(WriteSlices(trace, arguments, categories, transaction));
      return transaction.Commit();
    }();
  });
  group.Run([&] {
    ops = [&]() -> Status {
      SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
      SONDE_RETURN_IF_ERROR(WriteFrameworkOps(trace, arguments, transaction));
      return transaction.Commit();
    }();
  });
  others = WriteSmallTables(trace, arguments, store, serving, summary);
  group.Wait();
  SONDE_RETURN_IF_ERROR(slices);
  SONDE_RETURN_IF_ERROR(ops);
  return others;
}

}  // namespace

bool IsCapture(const std::string& path) {
  const auto files = ListCapture(path);
  return files.ok();
}

Result<int32_t> CaptureRank(const std::string& path) {
  Dictionary dictionary;
  SONDE_RETURN_IF_ERROR(TryAgainWhereGone([&]() -> Status {
    SONDE_ASSIGN_OR_RETURN(const CaptureFiles files, ListCapture(path));
    store::ImportIssues issues;
    SONDE_ASSIGN_OR_RETURN(dictionary, ReadDictionary(files.dictionaries, issues));
    return {};
  }));
  return RankOf(dictionary);
}

namespace {

Result<Dictionary> DictionaryOf(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const CaptureFiles files, ListCapture(path));
  store::ImportIssues issues;
  return ReadDictionary(files.dictionaries, issues);
}

}  // namespace

bool IsHelperCapture(const std::string& path) {
  const auto dictionary = DictionaryOf(path);
  return dictionary.ok() && MetadataOf(*dictionary, "role") == kHelperRole &&
         RankOf(*dictionary) < 0;
}

int32_t CaptureWorld(const std::string& path) {
  const auto dictionary = DictionaryOf(path);
  if (!dictionary.ok()) return 0;
  const auto ranks = base::ParseInt64(base::Trim(MetadataOf(*dictionary, "world_size")));
  return ranks && *ranks > 0 && *ranks <= INT32_MAX ? static_cast<int32_t>(*ranks) : 0;
}

Result<int64_t> CaptureStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const CaptureFiles files, ListCapture(path));
  uint64_t stamp = 0;
  for (const auto* list : {&files.dictionaries, &files.segments, &files.rings, &files.devices}) {
    for (const std::string& file : *list) {
      const auto bytes = base::MappedFile::Open(file);
      if (!bytes.ok() && IsGone(file, bytes.status())) continue;
      stamp = base::HashString(base::BaseName(file), stamp);
      if (!bytes.ok()) continue;  // counted by the import
      const size_t head = std::min(bytes->size(), sizeof(capture::RingHeader));
      stamp = base::HashCombine(stamp, bytes->size());
      stamp = base::HashBytes(bytes->data(), head, stamp);
    }
  }
  return static_cast<int64_t>(stamp);
}

Status RemoveRawRecords(const std::string& path) {
  SONDE_RETURN_IF_ERROR(ListCapture(path).status());
  const std::string folder = CaptureFolder(path);
  if (!base::IsRegularFile(base::JoinPath(folder, "trace.duckdb"))) {
    return base::FailedPreconditionError(
        Concat("the records in '", path, "' stay: the folder has no store with their data"));
  }
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(base::JoinPath(folder, kRemovedMark), ""));
  return FinishRemoval(path);
}

Status FinishRemoval(const std::string& path) {
  const std::string folder = CaptureFolder(path);
  if (!AreRemoved(folder)) return {};
  SONDE_ASSIGN_OR_RETURN(const CaptureFiles files, ListFiles(folder));
  for (const auto* list : {&files.rings, &files.devices, &files.segments, &files.dictionaries}) {
    for (const std::string& file : *list) SONDE_RETURN_IF_ERROR(base::RemoveTree(file));
  }
  return base::RemoveTree(base::JoinPath(folder, kRemovedMark));
}

Result<std::unique_ptr<LoadedCapture>> capture_import::LoadCapture(const std::string& path,
                                                                   ClockOffsets* clocks) {
  auto capture = std::make_unique<LoadedCapture>();
  CaptureTrace& trace = capture->trace;
  SONDE_RETURN_IF_ERROR(ReadFiles(path, trace));
  trace.rank = RankOf(trace.dictionary);
  trace.host = HostOf(path, trace.dictionary);
  trace.group_descriptions = GroupDescriptions(trace.dictionary, trace.issues);
  trace.shared_memory_ops = SharedMemoryOps(trace.dictionary);
  trace.shared_memory_groups = SharedMemoryGroups(trace.dictionary);
  trace.scope_cells.Find(trace.dictionary);
  const Dictionary& dictionary = trace.dictionary;
  const TickClock clock(dictionary.clocks, dictionary.clock_kind, dictionary.created_realtime_ns,
                        trace.issues, SharedOffset(dictionary, clocks));
  DecodeThreads(trace, clock);
  TakeNames(trace);
  TakeIssues(trace);
  capture->arguments.emplace(dictionary, trace.names, trace.issues);
  SONDE_RETURN_IF_ERROR(Stage(trace, clock));
  return capture;
}

Result<ImportSummary> ImportCapture(const std::string& path, store::Store& store,
                                    const ImportOptions& options) {
  return ImportPart(path, store, options, /*serving=*/nullptr, /*clocks=*/nullptr);
}

Result<ImportSummary> ImportPart(const std::string& path, store::Store& store,
                                 const ImportOptions& options,
                                 capture_import::ServingEvents* serving,
                                 capture_import::ClockOffsets* clocks) {
  SONDE_ASSIGN_OR_RETURN(const auto capture, LoadCapture(path, clocks));
  CaptureTrace& trace = capture->trace;
  ImportSummary summary;
  SONDE_RETURN_IF_ERROR(WriteAll(trace, *capture->arguments, store, options, serving, summary));
  summary.rank = trace.rank;
  summary.slices = trace.slices;
  summary.begin_ns = trace.begin_ns;
  summary.end_ns = trace.end_ns;
  summary.issues = trace.issues.list();
  return summary;
}

}  // namespace sonde::importers
