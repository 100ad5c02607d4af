#include "importers/capture/slots.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "importers/capture/file_header.h"
#include "importers/capture/issues.h"

namespace sonde::importers::capture_import {
namespace {

using base::LoadLe;
using capture::ChunkHeader;
using capture::Record;
using capture::RingHeader;

constexpr size_t kSlotBytes = sizeof(Record);
constexpr uint64_t kMaxRingSlots = uint64_t{1} << 32U;

class Collector {
 public:
  explicit Collector(store::ImportIssues& issues) : issues_(issues) {}

  void ReadSegment(std::span<const std::byte> bytes, std::string_view file) {
    size_t position = sizeof(capture::FileHeader);
    while (position < bytes.size()) {
      const auto header = ChunkAt(bytes, position);
      if (!header) {
        const size_t next = NextChunk(bytes, position + 1);
        issues_.Add(next == bytes.size() ? kTruncatedFile : kGarbledChunk, file,
                    static_cast<int64_t>(position));
        position = next;
        continue;
      }
      const size_t payload = size_t{header->slot_count} * kSlotBytes;
      if (payload > bytes.size() - position - sizeof(ChunkHeader)) {
        issues_.Add(kTruncatedFile, file, static_cast<int64_t>(position));
        position = NextChunk(bytes, position + sizeof(ChunkHeader));
        continue;
      }
      TakeChunk(*header, bytes.data() + position + sizeof(ChunkHeader), file, position);
      position += sizeof(ChunkHeader) + payload;
    }
  }

  void ReadRing(std::span<const std::byte> bytes, uint64_t session_id, std::string_view file) {
    if (bytes.size() < capture::kRingDataOffset) {
      issues_.Add(kTruncatedFile, file, static_cast<int64_t>(bytes.size()));
      return;
    }
    const auto header = LoadLe<RingHeader>(bytes.data());
    if (header.magic == 0) return;  // was just being made
    const uint64_t used = header.head - header.tail;
    const bool fits = header.capacity != 0 && header.capacity <= kMaxRingSlots &&
                      (header.capacity & (header.capacity - 1)) == 0 &&
                      bytes.size() >= capture::kRingDataOffset + header.capacity * kSlotBytes;
    if (header.magic != capture::kRingMagic || header.version != capture::kFormatVersion || !fits ||
        header.head < header.tail || used > header.capacity) {
      issues_.Add(kGarbledRing, file);
      return;
    }
    if (header.session_id != session_id) {
      issues_.Add(kForeignFile, file);
      return;
    }
    issues_.Add(kRecoveredRing, file);
    ThreadSlots& thread = Thread(header.thread_index);
    thread.dropped = std::max(thread.dropped, header.dropped);
    TakeRingSlots(header, bytes.data() + capture::kRingDataOffset, thread);
    TakeOpenRanges(header, bytes.data(), thread);
  }

  std::vector<ThreadSlots> Finish() {
    std::vector<ThreadSlots> list;
    for (auto& [index, thread] : threads_) {
      RemoveOverlaps(thread);
      if (thread.dropped > 0) {
        issues_.Add(kDropped, "", -1, static_cast<int64_t>(thread.dropped));
      }
      if (thread.missing > 0) {
        issues_.Add(kMissing, "", -1, static_cast<int64_t>(thread.missing));
      }
      list.push_back(std::move(thread));
    }
    return list;
  }

 private:
  ThreadSlots& Thread(uint32_t index) {
    ThreadSlots& thread = threads_[index];
    thread.thread_index = index;
    return thread;
  }

  static std::optional<ChunkHeader> ChunkAt(std::span<const std::byte> bytes, size_t position) {
    if (bytes.size() - position < sizeof(ChunkHeader)) return std::nullopt;
    const auto header = LoadLe<ChunkHeader>(bytes.data() + position);
    if (header.magic != capture::kChunkMagic) return std::nullopt;
    const size_t covered = offsetof(ChunkHeader, header_crc);
    if (base::Crc32c(bytes.data() + position, covered) != header.header_crc) return std::nullopt;
    return header;
  }

  // The next position with a valid chunk header; the end where there is none.
  static size_t NextChunk(std::span<const std::byte> bytes, size_t position) {
    const std::string_view text = base::AsText(bytes);
    const uint32_t magic = capture::kChunkMagic;
    const std::string_view wanted(reinterpret_cast<const char*>(&magic), sizeof(magic));
    for (; position < bytes.size(); ++position) {
      position = text.find(wanted, position);
      if (position == std::string_view::npos) break;
      if (ChunkAt(bytes, position)) return position;
    }
    return bytes.size();
  }

  void TakeChunk(const ChunkHeader& header, const std::byte* slots, std::string_view file,
                 size_t position) {
    ThreadSlots& thread = Thread(header.thread_index);
    thread.dropped = std::max(thread.dropped, header.dropped_total);
    if (header.slot_count == 0) return;
    if (base::Crc32c(slots, size_t{header.slot_count} * kSlotBytes) != header.payload_crc) {
      issues_.Add(kGarbledChunk, file, static_cast<int64_t>(position));
      return;
    }
    const auto first = LoadLe<Record>(slots);
    const bool open_ranges = capture::KindOf(first) < capture::RecordKind::kMark &&
                             capture::DurationTicks(first) == capture::kUnfinished;
    if (!open_ranges) {
      thread.runs.push_back({header.first_slot, header.slot_count, slots});
      return;
    }
    for (uint32_t i = 0; i < header.slot_count; ++i) {
      thread.open.push_back(LoadLe<Record>(slots + size_t{i} * kSlotBytes));
    }
  }

  static void TakeRingSlots(const RingHeader& header, const std::byte* slots, ThreadSlots& thread) {
    const uint64_t used = header.head - header.tail;
    const uint64_t begin = header.tail & (header.capacity - 1);
    const uint64_t first = std::min(used, header.capacity - begin);
    constexpr uint64_t kMaxRun = 1U << 30U;
    for (uint64_t done = 0; done < used;) {
      const bool wrapped = done >= first;
      const uint64_t at = wrapped ? done - first : begin + done;
      const uint64_t count = std::min(kMaxRun, (wrapped ? used : first) - done);
      thread.runs.push_back(
          {header.tail + done, static_cast<uint32_t>(count), slots + at * kSlotBytes});
      done += count;
    }
  }

  // Entries of the ring's list of open ranges, less one that had just been closed.
  static void TakeOpenRanges(const RingHeader& header, const std::byte* ring, ThreadSlots& thread) {
    std::optional<Record> last;
    if (header.head > 0) {
      const uint64_t slot = (header.head - 1) & (header.capacity - 1);
      last = LoadLe<Record>(ring + capture::kRingDataOffset + slot * kSlotBytes);
    }
    const uint32_t depth = std::min(header.open_depth, capture::kMaxOpenRanges);
    for (uint32_t i = 0; i < depth; ++i) {
      auto record = LoadLe<Record>(ring + capture::kOpenRangesOffset + i * kSlotBytes);
      const auto kind = capture::KindOf(record);
      if (kind == capture::RecordKind::kNone) continue;
      if (last && record.ticks == last->ticks && kind == capture::KindOf(*last) &&
          record.name == last->name) {
        continue;
      }
      record.dur_kind |= capture::kUnfinished;
      thread.open.push_back(record);
    }
  }

  static void RemoveOverlaps(ThreadSlots& thread) {
    std::stable_sort(
        thread.runs.begin(), thread.runs.end(),
        [](const SlotRun& a, const SlotRun& b) { return a.first_slot < b.first_slot; });
    std::vector<SlotRun> kept;
    kept.reserve(thread.runs.size());
    uint64_t next = thread.runs.empty() ? 0 : thread.runs[0].first_slot;
    for (SlotRun run : thread.runs) {
      if (run.first_slot < next) {
        const uint64_t known = next - run.first_slot;
        if (known >= run.count) continue;
        run.first_slot += known;
        run.count -= static_cast<uint32_t>(known);
        run.slots += known * kSlotBytes;
      }
      thread.missing += run.first_slot - next;
      next = run.first_slot + run.count;
      kept.push_back(run);
    }
    thread.runs = std::move(kept);
  }

  store::ImportIssues& issues_;
  std::map<uint32_t, ThreadSlots> threads_;
};

}  // namespace

Result<CaptureSlots> ReadSlots(const std::vector<std::string>& segments,
                               const std::vector<std::string>& rings, uint64_t session_id,
                               store::ImportIssues& issues) {
  CaptureSlots slots;
  Collector collector(issues);
  for (const std::string& path : segments) {
    SONDE_ASSIGN_OR_RETURN(base::MappedFile file, base::MappedFile::Open(path));
    const std::string_view name = base::BaseName(path);
    const auto header = ReadHeader(file.bytes(), capture::kSegmentMagic, name, issues);
    if (!header) continue;
    if (header->session_id != session_id) {
      issues.Add(kForeignFile, name);
      continue;
    }
    collector.ReadSegment(file.bytes(), name);
    slots.files.push_back(std::move(file));
  }
  for (const std::string& path : rings) {
    SONDE_ASSIGN_OR_RETURN(base::MappedFile file, base::MappedFile::Open(path));
    collector.ReadRing(file.bytes(), session_id, base::BaseName(path));
    slots.files.push_back(std::move(file));
  }
  slots.threads = collector.Finish();
  return slots;
}

}  // namespace sonde::importers::capture_import
