#include "importers/capture/testing/capture_builder.h"

#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/files.h"

namespace sonde::importers::testing {
namespace {

using capture::ArgHead;
using capture::ArgType;
using capture::EntryType;
using capture::Record;
using capture::RecordKind;

template <class T>
void Put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Bytes(const std::vector<Record>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)};
}

Record ToRecord(const CaptureBuilder::Range& range, bool open) {
  const uint64_t dur = range.end - range.begin;
  uint64_t dur_kind = capture::PackDurKind(dur, range.kind, range.domain);
  if (open) dur_kind |= capture::kUnfinished;
  return {range.begin, dur_kind, range.name, range.args, range.link, range.sequence};
}

}  // namespace

ArgsBuilder& ArgsBuilder::Field(uint32_t key, ArgType type, std::string_view payload) {
  Put(bytes_, ArgHead{key, static_cast<uint16_t>(type), 0, static_cast<uint32_t>(payload.size())});
  bytes_.append(payload);
  bytes_.append((4 - payload.size() % 4) % 4, '\0');
  return *this;
}
ArgsBuilder& ArgsBuilder::Int(uint32_t key, int64_t value) {
  return Field(key, ArgType::kInt64, {reinterpret_cast<const char*>(&value), 8});
}
ArgsBuilder& ArgsBuilder::Double(uint32_t key, double value) {
  return Field(key, ArgType::kDouble, {reinterpret_cast<const char*>(&value), 8});
}
ArgsBuilder& ArgsBuilder::Text(uint32_t key, std::string_view text) {
  return Field(key, ArgType::kText, text);
}
ArgsBuilder& ArgsBuilder::NameOf(uint32_t key, uint32_t name) {
  std::string payload;
  Put(payload, name);
  return Field(key, ArgType::kName, payload);
}

ArgsBuilder& ArgsBuilder::Ints(uint32_t key, const std::vector<int64_t>& values) {
  return Field(key, ArgType::kInt64Array,
               {reinterpret_cast<const char*>(values.data()), values.size() * 8});
}
ArgsBuilder& ArgsBuilder::Tensors(uint32_t key, const std::vector<std::vector<int64_t>>& sizes) {
  constexpr uint8_t kFloat = 6;
  std::string payload;
  Put(payload, static_cast<uint16_t>(sizes.size()));
  for (const auto& tensor : sizes) {
    Put(payload, capture::InputTag::kTensor);
    Put(payload, kFloat);
    Put(payload, static_cast<uint8_t>(tensor.size()));
    for (const int64_t size : tensor) Put(payload, size);
  }
  return Field(key, ArgType::kInputs, payload);
}

CaptureBuilder::CaptureBuilder(int64_t epoch_ns)
    : dictionary_(FileHeader(capture::kDictionaryMagic, 1, kSessionId)),
      segment_(FileHeader(capture::kSegmentMagic, 1, kSessionId)) {
  constexpr int64_t kTwoSeconds = 2'000'000'000;
  ClockSample(0, 5000, epoch_ns);
  ClockSample(kTwoSeconds, 5000 + kTwoSeconds, epoch_ns + kTwoSeconds);
}

std::string CaptureBuilder::FileHeader(uint64_t magic, uint32_t number, uint64_t session_id) {
  capture::FileHeader header{};
  header.magic = magic;
  header.version = capture::kFormatVersion;
  header.file_number = number;
  header.session_id = session_id;
  header.pid = kPid;
  header.clock_kind = capture::ClockKind::kTsc;
  header.created_realtime_ns = 1'700'000'000'000'000'000;
  header.header_crc = base::Crc32c(&header, offsetof(capture::FileHeader, header_crc));
  std::string bytes;
  Put(bytes, header);
  return bytes;
}

void CaptureBuilder::Entry(EntryType type, uint32_t id, std::string_view payload) {
  capture::EntryHead head{0, static_cast<uint16_t>(type), 0, id,
                          static_cast<uint32_t>(payload.size())};
  std::string covered;
  Put(covered, head);
  covered.append(payload);
  head.crc = base::Crc32c(std::string_view(covered).substr(sizeof(head.crc)));
  std::memcpy(covered.data(), &head.crc, sizeof(head.crc));
  dictionary_ += covered;
  dictionary_.append((8 - covered.size() % 8) % 8, '\0');
}

uint32_t CaptureBuilder::Name(std::string_view text) {
  const auto known = names_.find(text);
  if (known != names_.end()) return known->second;
  const auto id = static_cast<uint32_t>(names_.size()) + 1;
  names_.emplace(text, id);
  Entry(EntryType::kName, id, text);
  return id;
}

uint32_t CaptureBuilder::Args(const ArgsBuilder& args) {
  Entry(EntryType::kArgs, next_args_, args.bytes());
  return next_args_++;
}

uint32_t CaptureBuilder::Frame(std::string_view function, std::string_view file, uint32_t line) {
  std::string payload;
  Put(payload, Name(function));
  Put(payload, Name(file));
  Put(payload, line);
  Entry(EntryType::kFrame, next_frame_, payload);
  return next_frame_++;
}

uint32_t CaptureBuilder::Stack(const std::vector<uint32_t>& frames) {
  std::string payload;
  for (const uint32_t frame : frames) Put(payload, frame);
  Entry(EntryType::kStack, next_stack_, payload);
  return next_stack_++;
}

void CaptureBuilder::Domain(uint32_t id, std::string_view text) {
  Entry(EntryType::kDomain, id, text);
}

void CaptureBuilder::Thread(uint32_t index, uint32_t tid, uint32_t framework_number,
                            std::string_view name) {
  std::string payload;
  Put(payload, tid);
  Put(payload, framework_number);
  payload.append(name);
  Entry(EntryType::kThread, index, payload);
}

void CaptureBuilder::Metadata(std::string_view key, std::string_view json) {
  const uint32_t name = Name(key);
  Entry(EntryType::kMetadata, name, json);
}

void CaptureBuilder::ClockSample(uint64_t ticks, int64_t monotonic_raw_ns, int64_t realtime_ns) {
  std::string payload;
  Put(payload, capture::ClockSampleEntry{ticks, monotonic_raw_ns, realtime_ns, 40});
  Entry(EntryType::kClockSample, 0, payload);
}

void CaptureBuilder::Issue(std::string_view text) { Entry(EntryType::kIssue, 0, text); }

void CaptureBuilder::End(capture::StopReason reason, uint64_t dropped) {
  std::string payload;
  Put(payload, dropped);
  payload += "ended by the test";
  Entry(EntryType::kSessionEnd, static_cast<uint32_t>(reason), payload);
}

void CaptureBuilder::Add(uint32_t thread, const Record& record) {
  threads_[thread].pending.push_back(record);
}

void CaptureBuilder::Add(uint32_t thread, const Range& range) {
  Add(thread, ToRecord(range, false));
}

void CaptureBuilder::AddInstant(uint32_t thread, RecordKind kind, uint64_t ticks, uint32_t name,
                                uint64_t args_and_link) {
  Add(thread,
      Record{ticks, capture::PackDurKind(0, kind, 0), name, static_cast<uint32_t>(args_and_link),
             static_cast<uint32_t>(args_and_link >> 32U), -1});
}

void CaptureBuilder::AddSpan(uint32_t thread, bool begin, uint64_t ticks, uint32_t name,
                             uint64_t id) {
  const RecordKind kind = begin ? RecordKind::kSpanBegin : RecordKind::kSpanEnd;
  Add(thread, Record{ticks, capture::PackDurKind(0, kind, 0), name, 0, static_cast<uint32_t>(id),
                     static_cast<int32_t>(id >> 32U)});
}

void CaptureBuilder::AddMemory(uint32_t thread, uint64_t ticks, uint64_t pointer,
                               int64_t size_bytes, int64_t total_allocated) {
  const capture::MemoryHead head{ticks, capture::PackDurKind(0, RecordKind::kMemory, 0), pointer,
                                 size_bytes};
  const capture::MemoryTail tail{total_allocated, -1, -1, 0};
  Record record{};
  std::memcpy(&record, &head, sizeof(record));
  Add(thread, record);
  std::memcpy(&record, &tail, sizeof(record));
  Add(thread, record);
}

void CaptureBuilder::AppendChunk(uint32_t thread, uint64_t first_slot,
                                 const std::vector<Record>& slots, uint64_t dropped_total) {
  capture::ChunkHeader header{};
  header.magic = capture::kChunkMagic;
  header.thread_index = thread;
  header.first_slot = first_slot;
  header.slot_count = static_cast<uint32_t>(slots.size());
  header.dropped_total = dropped_total;
  const std::string payload = Bytes(slots);
  header.payload_crc = base::Crc32c(payload);
  header.header_crc = base::Crc32c(&header, offsetof(capture::ChunkHeader, header_crc));
  Put(segment_, header);
  segment_ += payload;
}

void CaptureBuilder::Flush(uint32_t thread, uint64_t dropped_total) {
  ThreadState& state = threads_[thread];
  AppendChunk(thread, state.next_slot, state.pending, dropped_total);
  state.next_slot += state.pending.size();
  state.pending.clear();
}

void CaptureBuilder::FlushOpen(uint32_t thread, const std::vector<Range>& open) {
  std::vector<Record> records;
  for (const Range& range : open) records.push_back(ToRecord(range, true));
  AppendChunk(thread, threads_[thread].next_slot, records, 0);
}

std::string CaptureBuilder::Ring(uint32_t thread, uint32_t tid, uint64_t capacity, uint64_t tail,
                                 const std::vector<Range>& open, bool last_ended) {
  ThreadState& state = threads_[thread];
  capture::RingHeader header{};
  header.magic = capture::kRingMagic;
  header.version = capture::kFormatVersion;
  header.thread_index = thread;
  header.session_id = kSessionId;
  header.pid = kPid;
  header.tid = tid;
  header.capacity = capacity;
  header.head = state.next_slot + state.pending.size();
  header.tail = tail;
  header.open_depth = static_cast<uint32_t>(open.size());
  std::string bytes(capture::kRingDataOffset + capacity * sizeof(Record), '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (size_t i = 0; i < open.size(); ++i) {
    Record record = ToRecord(open[i], false);
    record.dur_kind &= ~capture::kDurationMask;
    if (last_ended && i + 1 == open.size()) record.dur_kind |= header.head;
    std::memcpy(bytes.data() + capture::kOpenRangesOffset + i * sizeof(record), &record,
                sizeof(record));
  }
  for (size_t i = 0; i < state.pending.size(); ++i) {
    const uint64_t slot = (state.next_slot + i) & (capacity - 1);
    std::memcpy(bytes.data() + capture::kRingDataOffset + slot * sizeof(Record), &state.pending[i],
                sizeof(Record));
  }
  rings_["ring_" + std::to_string(thread) + ".sonde"] = bytes;
  return bytes;
}

Status CaptureBuilder::Write(const std::string& folder) const {
  const std::string inside = base::JoinPath(folder, "SONDE");
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(inside));
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base::JoinPath(inside, "dictionary_000001.sonde"), dictionary_));
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base::JoinPath(inside, "events_000001.sonde"), segment_));
  for (const auto& [name, bytes] : rings_) {
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(base::JoinPath(inside, name), bytes));
  }
  return {};
}

}  // namespace sonde::importers::testing
