#include "record/testing/capture_checker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/files.h"

namespace sonde::record {
namespace {

using base::Crc32c;
using capture::ChunkHeader;
using capture::EntryHead;
using capture::EntryType;
using capture::FileHeader;
using capture::Record;
using capture::RecordKind;
using capture::RingHeader;

template <class T>
T Load(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

class Checker {
 public:
  explicit Checker(std::string folder) : folder_(std::move(folder)) {}

  CheckedCapture Run() {
    const Result<std::vector<base::DirectoryEntry>> entries = base::ListDirectory(folder_);
    if (!entries.ok()) {
      Problem("no folder " + folder_);
      return std::move(capture_);
    }
    // The program may still record: files are read in an order that misses nothing
    // (docs/capture-format.md), though rings only make sense once the segments are known.
    const FileTexts rings = ReadFiles(*entries, "ring_");
    const FileTexts segments = ReadFiles(*entries, "events_");
    const FileTexts dictionaries = ReadFiles(*entries, "dictionary_");
    for (const auto& [name, bytes] : dictionaries) ReadDictionary(name, bytes);
    for (const auto& [name, bytes] : segments) ReadSegment(name, bytes);
    for (const auto& [name, bytes] : rings) ReadRing(name, bytes);
    Resolve();
    return std::move(capture_);
  }

 private:
  using FileTexts = std::vector<std::pair<std::string, std::string>>;

  FileTexts ReadFiles(const std::vector<base::DirectoryEntry>& entries, std::string_view prefix) {
    FileTexts texts;
    for (const base::DirectoryEntry& entry : entries) {
      if (!entry.name.starts_with(prefix)) continue;
      Result<std::string> text = base::ReadFile(folder_ + "/" + entry.name);
      // The ring of a thread that ended is removed once segments hold its records.
      if (text.status().code() == base::StatusCode::kNotFound && prefix == "ring_") continue;
      if (!text.ok()) Problem(std::string(text.status().message()));
      texts.emplace_back(entry.name, text.ok() ? *std::move(text) : std::string());
    }
    return texts;
  }

  void Problem(const std::string& text) { capture_.problems.push_back(text); }

  bool CheckHeader(const std::string& name, const std::string& bytes, uint64_t magic) {
    if (bytes.size() < sizeof(FileHeader)) {  // killed while the file was made
      capture_.truncated_bytes += bytes.size();
      return false;
    }
    const auto header = Load<FileHeader>(bytes, 0);
    if (header.magic != magic || header.version != capture::kFormatVersion ||
        header.header_crc != Crc32c(&header, offsetof(FileHeader, header_crc))) {
      Problem(name + ": bad header");
      return false;
    }
    if (session_id_ != 0 && header.session_id != session_id_) Problem(name + ": other session");
    session_id_ = header.session_id;
    return true;
  }

  void ReadDictionary(const std::string& name, const std::string& bytes) {
    if (!CheckHeader(name, bytes, capture::kDictionaryMagic)) return;
    size_t at = sizeof(FileHeader);
    while (at + sizeof(EntryHead) <= bytes.size()) {
      const auto head = Load<EntryHead>(bytes, at);
      const size_t padded = (size_t{head.length} + 7) / 8 * 8;
      if (at + sizeof(head) + padded > bytes.size()) break;
      uint32_t crc = Crc32c(bytes.data() + at + 4, sizeof(head) - 4);
      crc = Crc32c(bytes.data() + at + sizeof(head), head.length, crc);
      if (crc != head.crc) {
        Problem(name + ": bad checksum at " + std::to_string(at));
        return;
      }
      AddEntry(head, bytes.substr(at + sizeof(head), head.length));
      at += sizeof(head) + padded;
    }
    capture_.truncated_bytes += bytes.size() - at;
  }

  static std::vector<uint32_t> Numbers(const std::string& payload) {
    std::vector<uint32_t> numbers(payload.size() / 4);
    std::memcpy(numbers.data(), payload.data(), numbers.size() * 4);
    return numbers;
  }

  void AddEntry(const EntryHead& head, const std::string& payload) {
    switch (static_cast<EntryType>(head.type)) {
      case EntryType::kName:
        capture_.names[head.id] = payload;
        break;
      case EntryType::kDomain:
        capture_.domains[head.id] = payload;
        break;
      case EntryType::kArgs:
        capture_.args[head.id] = payload;
        break;
      case EntryType::kFrame:
        capture_.frames[head.id] = Numbers(payload);
        break;
      case EntryType::kStack:
        capture_.stacks[head.id] = Numbers(payload);
        break;
      case EntryType::kThread:
        capture_.threads[head.id] = {Load<uint32_t>(payload, 0), Load<uint32_t>(payload, 4),
                                     payload.substr(8)};
        break;
      case EntryType::kMetadata:
        capture_.metadata[capture_.names[head.id]] = payload;
        break;
      case EntryType::kClockSample:
        capture_.clock_samples.push_back(Load<capture::ClockSampleEntry>(payload, 0));
        break;
      case EntryType::kSessionEnd:
        capture_.end = CheckedEnd{static_cast<capture::StopReason>(head.id),
                                  Load<uint64_t>(payload, 0), payload.substr(8)};
        break;
      case EntryType::kProcess:
        break;
      case EntryType::kIssue:
        capture_.issues.push_back(payload);
        break;
    }
  }

  void ReadSegment(const std::string& name, const std::string& bytes) {
    if (!CheckHeader(name, bytes, capture::kSegmentMagic)) return;
    size_t at = sizeof(FileHeader);
    while (at + sizeof(ChunkHeader) <= bytes.size()) {
      const auto header = Load<ChunkHeader>(bytes, at);
      if (header.magic != capture::kChunkMagic ||
          header.header_crc != Crc32c(&header, offsetof(ChunkHeader, header_crc))) {
        Problem(name + ": bad chunk header at " + std::to_string(at));
        return;
      }
      const size_t size = header.slot_count * sizeof(Record);
      if (at + sizeof(header) + size > bytes.size()) break;
      if (header.payload_crc != Crc32c(bytes.data() + at + sizeof(header), size)) {
        Problem(name + ": bad chunk checksum at " + std::to_string(at));
        return;
      }
      ReadChunk(name, header, bytes.data() + at + sizeof(header));
      at += sizeof(header) + size;
    }
    capture_.truncated_bytes += bytes.size() - at;
  }

  void ReadChunk(const std::string& name, const ChunkHeader& header, const char* payload) {
    std::vector<Record> slots(header.slot_count);
    if (!slots.empty()) std::memcpy(slots.data(), payload, slots.size() * sizeof(Record));
    for (const Record& record : slots) {
      if (capture::SlotCount(capture::KindOf(record)) == 2) break;  // next slot is no record
      if (record.ticks < header.min_ticks) Problem(name + ": record before min_ticks");
    }
    const auto [next, first_chunk] = next_slot_.emplace(header.thread_index, header.first_slot);
    if (header.first_slot != next->second) {
      Problem(name + ": thread " + std::to_string(header.thread_index) + " jumps from slot " +
              std::to_string(next->second) + " to " + std::to_string(header.first_slot));
    }
    next->second = header.first_slot + header.slot_count;
    capture_.dropped[header.thread_index] = header.dropped_total;
    AddSlots(header.thread_index, header.first_slot, slots);
  }

  void AddSlots(uint32_t thread, uint64_t first, const std::vector<Record>& slots) {
    for (size_t i = 0; i < slots.size(); ++i) {
      CheckedRecord checked{};
      checked.record = slots[i];
      checked.thread_index = thread;
      checked.slot = first + i;
      checked.open = capture::KindOf(slots[i]) < RecordKind::kMark &&
                     capture::DurationTicks(slots[i]) == capture::kUnfinished;
      if (capture::KindOf(slots[i]) == RecordKind::kMemory) {
        if (++i == slots.size()) {
          Problem("half a memory record of thread " + std::to_string(thread));
          return;
        }
        std::memcpy(&checked.memory, &slots[i], sizeof(checked.memory));
      }
      capture_.records.push_back(checked);
    }
  }

  void ReadRing(const std::string& name, const std::string& bytes) {
    ++capture_.ring_files;
    if (bytes.size() < capture::kRingDataOffset) return;
    const auto header = Load<RingHeader>(bytes, 0);
    if (header.magic == 0) return;
    if (header.magic != capture::kRingMagic || header.version != capture::kFormatVersion ||
        header.session_id != session_id_ || (header.capacity & (header.capacity - 1)) != 0 ||
        bytes.size() < capture::kRingDataOffset + header.capacity * sizeof(Record)) {
      Problem(name + ": bad header");
      return;
    }
    if (header.tail > header.head || header.head - header.tail > header.capacity) {
      Problem(name + ": head and tail do not fit");
      return;
    }
    uint64_t begin = header.tail;
    const auto known = next_slot_.find(header.thread_index);
    if (known != next_slot_.end()) begin = std::max(begin, known->second);
    std::vector<Record> slots;
    for (uint64_t slot = begin; slot < header.head; ++slot) {
      slots.push_back(Load<Record>(
          bytes, capture::kRingDataOffset + (slot & (header.capacity - 1)) * sizeof(Record)));
    }
    AddSlots(header.thread_index, begin, slots);
    capture_.dropped[header.thread_index] = header.dropped;
    for (uint32_t i = 0; i < std::min(header.open_depth, capture::kMaxOpenRanges); ++i) {
      Record open = Load<Record>(bytes, capture::kOpenRangesOffset + i * sizeof(Record));
      if (capture::KindOf(open) == RecordKind::kNone) continue;
      const uint64_t ended_before = capture::DurationTicks(open);
      if (ended_before != 0 && ended_before == header.head) continue;  // just finished
      open.dur_kind |= capture::kUnfinished;
      AddSlots(header.thread_index, header.head + i, {open});
    }
  }

  void Resolve() {
    std::set<std::string> missing;
    for (CheckedRecord& checked : capture_.records) {
      const Record& record = checked.record;
      const RecordKind kind = capture::KindOf(record);
      if (!capture_.threads.contains(checked.thread_index)) missing.insert("thread");
      if (kind == RecordKind::kMemory) continue;
      if (record.name != 0) {
        const auto name = capture_.names.find(record.name);
        if (name == capture_.names.end()) {
          missing.insert("name " + std::to_string(record.name));
        } else {
          checked.name = name->second;
        }
      }
      const uint32_t domain = capture::DomainOf(record);
      if (domain != 0 && !capture_.domains.contains(domain)) missing.insert("domain");
      if (kind < RecordKind::kCounter && record.args != 0 && !capture_.args.contains(record.args)) {
        missing.insert("args " + std::to_string(record.args));
      }
    }
    for (const std::string& what : missing) Problem("a record refers to a missing " + what);
  }

  std::string folder_;
  uint64_t session_id_ = 0;
  std::map<uint32_t, uint64_t> next_slot_;
  CheckedCapture capture_;
};

}  // namespace

uint64_t CheckedCapture::TotalDropped() const {
  uint64_t total = 0;
  for (const auto& [thread, count] : dropped) total += count;
  return total;
}

size_t CheckedCapture::Count(RecordKind kind, const std::string& name, bool open) const {
  return static_cast<size_t>(
      std::count_if(records.begin(), records.end(), [&](const CheckedRecord& checked) {
        return capture::KindOf(checked.record) == kind && checked.open == open &&
               (name.empty() || checked.name == name);
      }));
}

std::string CheckedCapture::ProblemText() const {
  std::string text;
  for (const std::string& problem : problems) text += problem + "\n";
  return text;
}

CheckedCapture CheckCapture(const std::string& span) { return Checker(span + "/SONDE").Run(); }

std::vector<std::string> FindSpans(const std::string& directory) {
  std::vector<std::string> spans;
  const Result<std::vector<base::DirectoryEntry>> entries = base::ListDirectory(directory);
  if (!entries.ok()) return spans;
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string path = directory + "/" + entry.name;
    if (base::IsDirectory(path + "/SONDE")) spans.push_back(path);
  }
  return spans;
}

}  // namespace sonde::record
