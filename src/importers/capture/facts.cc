// Tables with few rows: processes, threads, tracks, counters, steps, marks, stacks, metadata.
#include <algorithm>
#include <limits>
#include <map>

#include "base/bytes.h"
#include "base/secrets.h"
#include "base/strings.h"
#include "capture/compiled_code.h"
#include "capture/mindspore_types.h"
#include "importers/capture/issues.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using base::Concat;
using capture::RecordKind;
using store::TableWriter;

std::string ThreadLabel(const ThreadEntry* entry, uint32_t index) {
  if (entry == nullptr) return Concat("Thread #", std::to_string(index));
  return Concat("Thread ", std::to_string(entry->tid));
}

std::string CommandLine(std::string_view text) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  std::string line(text);
  // Also here: captures of earlier versions have the secrets in them.
  line = base::MaskedCommandLine(line, '\0');
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

Status WriteProcess(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::ProcessRow>::Open(transaction));
  const Dictionary& dictionary = trace.dictionary;
  store::ProcessRow row;
  row.process_id = kProcessId;
  row.pid = dictionary.pid;
  if (!dictionary.command_line.empty()) {
    row.name = trace.names.Intern(CommandLine(dictionary.command_line));
  }
  row.rank = trace.rank;
  if (!trace.host.empty()) row.host = trace.names.Intern(trace.host);
  if (dictionary.parent_pid) row.parent_pid = *dictionary.parent_pid;
  writer.Append(row);
  return writer.Close();
}

Status WriteThreadRows(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::ThreadRow>::Open(transaction));
  for (const ThreadStage& stage : trace.stages) {
    const ThreadEntry* entry = trace.dictionary.FindThread(stage.thread_index);
    store::ThreadRow row;
    row.thread_id = stage.thread_id;
    row.process_id = kProcessId;
    row.tid = stage.thread_index;
    if (entry != nullptr) {
      row.tid = entry->tid;
      row.framework_number = static_cast<int32_t>(entry->framework_number);
      if (!entry->name.empty()) row.name = trace.names.Intern(entry->name);
    }
    writer.Append(row);
  }
  return writer.Close();
}

Status WriteCounters(CaptureTrace& trace, TableWriter<store::TrackRow>& tracks,
                     store::Transaction& transaction) {
  std::map<uint32_t, int32_t> track_of;  // by name
  std::vector<store::CounterRow> rows;
  const int32_t kind = trace.names.Intern(capture::TextOf(TrackKind::kCounter));
  for (const ThreadStage& stage : trace.stages) {
    for (const CounterInstant& counter : stage.counters) {
      const auto [place, is_new] = track_of.try_emplace(counter.name, trace.tracks);
      if (is_new) {
        store::TrackRow row;
        row.track_id = trace.tracks++;
        row.kind = kind;
        row.name = trace.NameId(counter.name);
        row.process_id = kProcessId;
        row.sort_index = row.track_id;
        tracks.Append(row);
      }
      rows.push_back({counter.ts, place->second, counter.value});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.track_id != b.track_id ? a.track_id < b.track_id : a.ts < b.ts;
  });
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::CounterRow>::Open(transaction));
  for (const store::CounterRow& row : rows) writer.Append(row);
  return writer.Close();
}

int32_t DomainName(CaptureTrace& trace, uint8_t domain) {
  const std::string_view text = trace.dictionary.domains[domain];
  if (!text.empty()) return trace.names.Intern(text);
  return trace.names.Intern(domain == 0 ? "default" : Concat("domain ", std::to_string(domain)));
}

int32_t ThreadTrack(const ThreadStage& stage) {
  for (const TrackStage& track : stage.tracks) {
    if (track.kind == TrackKind::kThread && track.overflow == 0) return track.track_id;
  }
  return store::kNone;
}

// Ranges and marks of the user on one thread.
void CollectMarks(CaptureTrace& trace, const ThreadStage& stage,
                  std::vector<store::MarkRow>& rows) {
  const int32_t push_pop = trace.names.Intern("push_pop");
  const int32_t start_end = trace.names.Intern("start_end");
  const int32_t marker = trace.names.Intern("marker");
  for (const Node& node : stage.nodes) {
    if (node.kind != RecordKind::kRange && node.kind != RecordKind::kSpanBegin) continue;
    store::MarkRow row;
    row.ts = node.ts;
    row.dur = node.DurNs();
    row.track_id = stage.tracks[node.track].track_id;
    row.domain = DomainName(trace, node.domain);
    row.message = trace.NameId(node.name);
    row.kind = node.kind == RecordKind::kRange ? push_pop : start_end;
    row.slice_id = node.slice_id;
    if (node.kind == RecordKind::kSpanBegin && node.link != stage.thread_index) {
      for (const ThreadStage& other : trace.stages) {
        if (other.thread_index == node.link) row.end_thread_id = other.thread_id;
      }
    }
    rows.push_back(row);
  }
  for (const MarkInstant& mark : stage.marks) {
    store::MarkRow row;
    row.ts = mark.ts;
    row.track_id = ThreadTrack(stage);
    row.domain = DomainName(trace, mark.domain);
    row.message = trace.NameId(mark.name);
    row.kind = marker;
    rows.push_back(row);
  }
}

std::string FrameText(const Dictionary& dictionary, uint32_t id) {
  if (id >= dictionary.frames.size()) return "?";
  const FrameEntry& frame = dictionary.frames[id];
  return Concat(dictionary.Name(frame.file), "(", std::to_string(frame.line),
                "): ", dictionary.Name(frame.function));
}

}  // namespace

std::vector<StepRange> FindSteps(const CaptureTrace& trace) {
  std::vector<StepRange> steps;
  for (const ThreadStage& stage : trace.stages) {
    for (const Node& node : stage.nodes) {
      if (node.kind == RecordKind::kStep) {
        steps.push_back({node.ts, node.end, node.sequence, node.slice_id, stage.thread_id,
                         UseBetween(stage, node.ts, node.end)});
      }
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepRange& a, const StepRange& b) { return a.ts < b.ts; });
  return steps;
}

StepCursor::StepCursor(const std::vector<StepRange>& steps) : all_{steps} {
  int64_t end = std::numeric_limits<int64_t>::min();
  bool overlaps = false;
  for (const StepRange& step : steps) {
    overlaps = overlaps || step.ts < end;
    end = std::max(end, step.end);
  }
  if (!overlaps) return;
  for (const StepRange& step : steps) lanes_[step.thread_id].steps.push_back(step);
}

int64_t StepCursor::At(int64_t ts, int32_t thread_id) {
  const auto lane = lanes_.find(thread_id);
  return lane == lanes_.end() ? all_.At(ts) : lane->second.At(ts);
}

int64_t StepCursor::Lane::At(int64_t ts) {
  while (next < steps.size() && steps[next].ts <= ts) ++next;
  if (next == 0) return store::kNone;
  const StepRange& step = steps[next - 1];
  return ts < step.end ? step.number : store::kNone;
}

Status WriteSteps(const CaptureTrace& trace, const std::vector<StepRange>& steps,
                  store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::StepRow>::Open(transaction));
  for (const StepRange& step : steps) {
    store::StepRow row;
    row.step_id = step.number;
    row.rank = trace.rank;
    row.process_id = kProcessId;
    row.slice_id = step.slice_id;
    row.ts = step.ts;
    row.dur = step.end == kOpenEnd ? -1 : step.end - step.ts;
    SetProcessorUse(step.use, row);
    writer.Append(row);
  }
  return writer.Close();
}

Status WriteMarks(CaptureTrace& trace, store::Transaction& transaction) {
  std::vector<store::MarkRow> rows;
  for (const ThreadStage& stage : trace.stages) CollectMarks(trace, stage, rows);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.ts < b.ts; });
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::MarkRow>::Open(transaction));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].mark_id = static_cast<int32_t>(i);
    writer.Append(rows[i]);
  }
  return writer.Close();
}

Status WriteThreads(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_RETURN_IF_ERROR(WriteProcess(trace, transaction));
  SONDE_RETURN_IF_ERROR(WriteThreadRows(trace, transaction));
  SONDE_ASSIGN_OR_RETURN(auto tracks, TableWriter<store::TrackRow>::Open(transaction));
  for (const ThreadStage& stage : trace.stages) {
    const ThreadEntry* entry = trace.dictionary.FindThread(stage.thread_index);
    // Rows are at the index of their number; the stage has them in order of appearance.
    std::vector<TrackStage> by_number = stage.tracks;
    std::sort(by_number.begin(), by_number.end(),
              [](const TrackStage& a, const TrackStage& b) { return a.track_id < b.track_id; });
    for (const TrackStage& track : by_number) {
      std::string label =
          Concat(ThreadLabel(entry, stage.thread_index), capture::InfoOf(track.kind).label);
      if (track.overflow > 0) label += Concat(" (", std::to_string(track.overflow + 1), ")");
      store::TrackRow row;
      row.track_id = track.track_id;
      row.kind = trace.names.Intern(capture::TextOf(track.kind));
      row.name = trace.names.Intern(label);
      row.process_id = kProcessId;
      row.thread_id = stage.thread_id;
      row.sort_index = track.track_id;
      tracks.Append(row);
    }
  }
  for (const DeviceTrack& track : trace.device.tracks) {
    store::TrackRow row;
    row.track_id = track.track_id;
    row.kind = trace.names.Intern(capture::TextOf(track.kind));
    row.name = trace.names.Intern(track.label);
    row.process_id = kProcessId;
    row.thread_id = track.thread_id;
    row.device_id = track.device_id;
    row.stream_id = track.stream_id;
    row.sort_index = track.track_id;
    tracks.Append(row);
  }
  SONDE_RETURN_IF_ERROR(WriteCounters(trace, tracks, transaction));
  return tracks.Close();
}

Status WriteCallstacks(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::CallstackRow>::Open(transaction));
  const Dictionary& dictionary = trace.dictionary;
  std::vector<int32_t> texts(dictionary.frames.size(), store::kNone);
  for (size_t id = 0; id < dictionary.stacks.size(); ++id) {
    const std::span<const std::byte> frames = dictionary.stacks[id];
    for (size_t i = 0; i + 4 <= frames.size(); i += 4) {
      const auto frame = base::LoadLe<uint32_t>(frames.data() + i);
      store::CallstackRow row;
      row.stack_id = static_cast<int32_t>(id);
      row.depth = static_cast<int32_t>(i / 4);
      if (frame < texts.size()) {
        if (texts[frame] == store::kNone) {
          texts[frame] = trace.names.Intern(FrameText(dictionary, frame));
        }
        row.frame = texts[frame];
      } else {
        trace.issues.Add(kUnknownId, "");
      }
      writer.Append(row);
    }
  }
  return writer.Close();
}

Status WriteMetadata(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<store::MetadataRow>::Open(transaction));
  const auto append = [&](std::string_view key, std::string_view value) {
    const std::string valid_key = store::ToValidUtf8(key);
    const std::string valid_value = store::ToValidUtf8(value);
    writer.Append({kProcessId, valid_key, valid_value});
  };
  for (const MetadataEntry& entry : trace.dictionary.metadata) {
    const std::string_view key = trace.dictionary.Name(entry.key);
    // Kernels have what these hold.
    if (key.starts_with(capture::kCompiledGraphKey)) continue;
    if (key.starts_with(capture::kKernelShapesKey)) continue;
    append(key, entry.json);
  }
  append("recording_begin_ns", std::to_string(trace.recording_ns));
  append("capture_begin_ns", std::to_string(trace.begin_ns));
  append("capture_end_ns", std::to_string(trace.end_ns));
  append("session_id", std::to_string(trace.dictionary.session_id));
  return writer.Close();
}

}  // namespace sonde::importers::capture_import
