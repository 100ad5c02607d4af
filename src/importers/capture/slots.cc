#include "importers/capture/slots.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "importers/capture/file_header.h"
#include "importers/capture/issues.h"
#include "importers/common/part_file.h"

namespace sonde::importers::capture_import {
namespace {

using base::LoadLe;
using capture::ChunkHeader;
using capture::Record;

constexpr size_t kSlotBytes = sizeof(Record);

class SlotCollector {
 public:
  explicit SlotCollector(store::ImportIssues& issues) : issues_(issues) {}

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

  void TakeRing(const RingCopy& ring, uint64_t session_id) {
    switch (ring.state) {
      case RingCopy::State::kBeingMade:
        return;
      case RingCopy::State::kTruncated:
        issues_.Add(kTruncatedFile, ring.file, static_cast<int64_t>(ring.file_size));
        return;
      case RingCopy::State::kGarbled:
        issues_.Add(kGarbledRing, ring.file);
        return;
      case RingCopy::State::kGood:
        break;
    }
    if (ring.header.session_id != session_id) {
      issues_.Add(kForeignFile, ring.file);
      return;
    }
    issues_.Add(kRecoveredRing, "");
    ThreadSlots& thread = Thread(ring.header.thread_index);
    thread.dropped = std::max(thread.dropped, ring.header.dropped);
    AddRun(thread, ring.header.tail, std::as_bytes(std::span(ring.slots)));
    rings_[ring.header.thread_index] = &ring;
  }

  std::vector<ThreadSlots> Finish() {
    std::vector<ThreadSlots> list;
    for (auto& [index, thread] : threads_) {
      RemoveOverlaps(thread);
      const auto ring = rings_.find(index);
      if (ring != rings_.end() && thread.open.empty())
        thread.open = StillOpen(*ring->second, thread);
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

  static void AddRun(ThreadSlots& thread, uint64_t first_slot, std::span<const std::byte> slots) {
    constexpr uint64_t kMaxRun = 1U << 30U;
    const uint64_t total = slots.size() / kSlotBytes;
    for (uint64_t done = 0; done < total; done += kMaxRun) {
      thread.runs.push_back({first_slot + done,
                             static_cast<uint32_t>(std::min(kMaxRun, total - done)),
                             slots.data() + done * kSlotBytes});
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

  // The ranges that were open when the ring was copied, without those that ended before the
  // segments were opened: they are in slots from its head on. A last chunk of open ranges is newer
  // than both.
  static std::vector<Record> StillOpen(const RingCopy& ring, const ThreadSlots& thread) {
    const auto key = [](const Record& record) {
      return std::tuple(record.ticks, record.name, capture::KindOf(record));
    };
    using Key = decltype(key(Record{}));
    std::set<Key> wanted;
    for (const Record& record : ring.open) wanted.insert(key(record));
    std::multiset<Key> ended;
    for (const SlotRun& run : thread.runs) {
      const uint64_t begin = std::max(run.first_slot, ring.header.head);
      for (uint64_t slot = begin; slot < run.first_slot + run.count; ++slot) {
        const Key one = key(LoadLe<Record>(run.slots + (slot - run.first_slot) * kSlotBytes));
        if (wanted.contains(one)) ended.insert(one);
      }
    }
    std::vector<Record> open = ring.open;
    // Of equal ones, which a coarse clock makes, the innermost ended.
    for (size_t i = open.size(); i-- > 0 && !ended.empty();) {
      const auto found = ended.find(key(open[i]));
      if (found == ended.end()) continue;
      ended.erase(found);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return open;
  }

  store::ImportIssues& issues_;
  std::map<uint32_t, ThreadSlots> threads_;
  std::map<uint32_t, const RingCopy*> rings_;  // by thread index
};

}  // namespace

Result<std::vector<SegmentFile>> OpenSegments(const std::vector<std::string>& files,
                                              store::ImportIssues& issues) {
  std::vector<SegmentFile> segments;
  for (const std::string& path : files) {
    auto bytes = base::MappedFile::Open(path);
    if (bytes.ok()) {
      segments.push_back({std::string(base::BaseName(path)), std::move(*bytes)});
    } else if (IsGone(path, bytes.status())) {
      return bytes.status();
    } else {
      CountUnreadable(base::BaseName(path), bytes.status(), issues);
    }
  }
  return segments;
}

CaptureSlots ReadSlots(SlotFiles files, uint64_t session_id, store::ImportIssues& issues) {
  CaptureSlots slots{std::move(files), {}};
  SlotCollector collector(issues);
  for (const SegmentFile& segment : slots.files.segments) {
    const auto header =
        ReadHeader(segment.bytes.bytes(), capture::kSegmentMagic, segment.name, issues);
    if (!header) continue;
    if (header->session_id != session_id) {
      issues.Add(kForeignFile, segment.name);
      continue;
    }
    collector.ReadSegment(segment.bytes.bytes(), segment.name);
  }
  for (const RingCopy& ring : slots.files.rings) collector.TakeRing(ring, session_id);
  slots.threads = collector.Finish();
  return slots;
}

}  // namespace sonde::importers::capture_import
