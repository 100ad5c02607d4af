#include "importers/rows/trace_rows.h"

#include <algorithm>

#include "base/hash.h"
#include "base/host/json_writer.h"
#include "base/strings.h"

namespace sonde::importers {
namespace {

constexpr store::IssueKind kNegativeDuration{
    "negative_duration", store::Severity::kWarning,
    "something ends before it begins; its duration was taken as 0"};

constexpr store::IssueKind kTimeRange{
    "time_out_of_range", store::Severity::kWarning,
    "a time is before 1970 or far in the future, or a duration is longer than a year; it was set "
    "to 0"};

}  // namespace

int32_t TraceRows::Process(int64_t pid) {
  const auto [found, is_new] =
      process_of_pid_.try_emplace(pid, static_cast<int32_t>(processes.size()));
  if (is_new) {
    store::ProcessRow row;
    row.process_id = found->second;
    row.pid = pid;
    row.rank = rank;
    processes.push_back(row);
  }
  return found->second;
}

int32_t TraceRows::Thread(int32_t process_id, int64_t tid) {
  const auto [found, is_new] =
      thread_of_tid_.try_emplace({process_id, tid}, static_cast<int32_t>(threads.size()));
  if (is_new) {
    store::ThreadRow row;
    row.thread_id = found->second;
    row.tid = tid;
    row.process_id = process_id;
    threads.push_back(row);
  }
  return found->second;
}

int32_t TraceRows::Track(const TrackKey& key) {
  const int32_t kind = names.Intern(capture::TextOf(key.kind));
  const int32_t name = names.Intern(key.name);
  const TrackId id(kind, name, key.process_id, key.thread_id, key.device_id, key.stream_id);
  const auto [found, is_new] =
      track_of_key_.try_emplace(id, first_track_ + static_cast<int32_t>(tracks.size()));
  if (is_new) {
    tracks.push_back({.track_id = found->second,
                      .kind = kind,
                      .name = name,
                      .process_id = key.process_id,
                      .thread_id = key.thread_id,
                      .device_id = key.device_id,
                      .stream_id = key.stream_id,
                      .sort_index = found->second});
  }
  return found->second;
}

int32_t TraceRows::ThreadTrack(capture::TrackKind kind, int32_t thread_id) {
  const auto [found, is_new] = track_of_thread_.try_emplace({kind, thread_id}, store::kNone);
  if (is_new) {
    const store::ThreadRow& thread = threads[static_cast<size_t>(thread_id)];
    const std::string name = base::Concat("Thread ", std::to_string(thread.tid));
    found->second = Track(
        {.kind = kind, .name = name, .process_id = thread.process_id, .thread_id = thread_id});
  }
  return found->second;
}

int32_t TraceRows::CpuStream(int32_t process_id, int32_t thread_id) {
  const auto count = static_cast<int32_t>(cpu_stream_of_thread_.size());
  const int32_t stream = cpu_stream_of_thread_.try_emplace(thread_id, count).first->second;
  const std::string name = base::Concat("Stream ", std::to_string(stream));
  return Track({.kind = capture::TrackKind::kStream,
                .name = name,
                .process_id = process_id,
                .thread_id = thread_id,
                .stream_id = stream});
}

size_t TraceRows::KindHash::operator()(const KindColumns& columns) const {
  return base::HashBytes(columns.data(), sizeof(columns));
}

int32_t TraceRows::Kind(const store::TaskKindRow& kind) {
  KindColumns columns = {};
  size_t place = 0;
  store::RowTraits<store::TaskKindRow>::Visit(kind, [&](auto value) {
    if (place > 0) columns[place - 1] = value;
    ++place;
  });
  const auto [found, is_new] =
      kind_of_columns_.try_emplace(columns, static_cast<int32_t>(kinds.size()));
  if (is_new) {
    kinds.push_back(kind);
    kinds.back().kind_id = found->second;
  }
  return found->second;
}

int32_t TraceRows::Signature(int32_t shapes, int32_t types) {
  if (shapes == store::kNone && types == store::kNone) return store::kNone;
  // Texts of shapes are many and have close numbers, types are few.
  const auto both =
      static_cast<int64_t>((static_cast<uint64_t>(types) << 32U) | static_cast<uint32_t>(shapes));
  const auto [found, is_new] =
      signature_of_texts_.Insert(both, static_cast<int32_t>(signatures.size()));
  if (is_new) {
    store::OpSignatureRow row;
    row.signature_id = *found;
    row.input_shapes = shapes;
    row.input_types = types;
    signatures.push_back(row);
  }
  return *found;
}

int32_t TraceRows::AddSlice(int32_t track_id, int64_t ts, int64_t dur, int32_t name,
                            int32_t category) {
  if (dur < 0) issues.Add(kNegativeDuration, source);
  if (!IsTime(ts, std::max<int64_t>(dur, 0))) {
    issues.Add(kTimeRange, source);
    ts = 0;
    dur = 0;
  }
  store::SliceRow row;
  row.ts = ts;
  row.dur = std::max<int64_t>(dur, 0);
  row.track_id = track_id;
  row.name = name;
  row.category = category;
  slices.push_back(row);
  return static_cast<int32_t>(slices.size()) - 1;
}

void TraceRows::AddText(std::string_view key, std::string_view text) {
  AddJson(key, base::JsonQuote(text));
}

void TraceRows::AddJson(std::string_view key, std::string_view json) {
  metadata.push_back({store::kNone, std::string(key), std::string(json)});
}

}  // namespace sonde::importers
