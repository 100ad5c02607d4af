#include "record/capture_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/crc32c.h"
#include "record/clock.h"
#include "record/file.h"

namespace sonde::record {
namespace {

using base::Crc32c;

// Blocks kept beyond the end of the dictionary, so that the reason can still be written when the
// disk is full; they are taken so many bytes at a time where the disk has them.
constexpr uint64_t kEndReserve = 16 * 1024;
constexpr uint64_t kReserveStep = 256 * 1024;
constexpr uint64_t kMaxSegmentBytes = 64ull << 20;
// In keep-last mode the span to keep takes about this many segments.
constexpr int64_t kSegmentsPerSpan = 8;

std::string FileName(const std::string& folder, const char* kind, uint32_t number) {
  char name[48];
  snprintf(name, sizeof(name), "/%s_%06u.sonde", kind, number);
  return folder + name;
}

capture::FileHeader MakeHeader(uint64_t magic, uint32_t number, const CaptureIdentity& identity) {
  capture::FileHeader header{};
  header.magic = magic;
  header.version = capture::kFormatVersion;
  header.file_number = number;
  header.session_id = identity.session_id;
  header.pid = identity.pid;
  header.clock_kind = identity.clock_kind;
  header.created_realtime_ns = base::RealtimeNs();
  header.header_crc = Crc32c(&header, offsetof(capture::FileHeader, header_crc));
  return header;
}

// Creates the file and writes its header.
int CreateWithHeader(const std::string& path, const capture::FileHeader& header, OwnFile* file) {
  int result = file->Create(path);
  if (result != 0) return result;
  iovec piece{const_cast<capture::FileHeader*>(&header), sizeof(header)};
  result = file->Write(&piece, 1, 0);
  if (result != 0) {
    file->Close();
    unlink(path.c_str());
  }
  return result;
}

// Time span and number of the records in one piece of a chunk.
void ScanPiece(const capture::Record* slots, uint32_t count, bool* second_of_pair,
               capture::ChunkHeader* header, uint64_t* records) {
  for (uint32_t i = 0; i < count; ++i) {
    if (*second_of_pair) {
      *second_of_pair = false;
      continue;
    }
    const capture::Record& record = slots[i];
    header->min_ticks = std::min(header->min_ticks, record.ticks);
    const capture::RecordKind kind = capture::KindOf(record);
    const uint64_t dur = capture::DurationTicks(record);
    const bool has_end = kind < capture::RecordKind::kMark && dur != capture::kUnfinished;
    header->max_ticks = std::max(header->max_ticks, record.ticks + (has_end ? dur : 0));
    *second_of_pair = capture::SlotCount(kind) == 2;
    ++*records;
  }
}

}  // namespace

DictionaryFile::~DictionaryFile() { Close(); }

int DictionaryFile::Create(const CaptureIdentity& identity, uint32_t number) {
  const int result =
      CreateWithHeader(FileName(identity.folder, "dictionary", number),
                       MakeHeader(capture::kDictionaryMagic, number, identity), &file_);
  if (result != 0) return result;
  size_ = sizeof(capture::FileHeader);
  reserved_ = size_;
  reserve_is_open_ = false;
  return KeepReserve(size_);
}

int DictionaryFile::KeepReserve(uint64_t end) {
  if (end + kEndReserve <= reserved_) return 0;
  int result = 0;
  for (const uint64_t wanted : {end + kEndReserve + kReserveStep, end + kEndReserve}) {
    result = file_.Reserve(reserved_, wanted - reserved_);
    if (result == 0) reserved_ = wanted;
    if (result == 0) return 0;
    if (result == -EOPNOTSUPP || result == -ENOSYS) return 0;  // only a precaution then
  }
  return result;
}

int DictionaryFile::Append(capture::EntryType type, uint32_t id,
                           std::initializer_list<std::string_view> pieces) {
  capture::EntryHead head{};
  head.type = static_cast<uint16_t>(type);
  head.id = id;
  const size_t start = buffer_.size();
  buffer_.append(sizeof(head), '\0');
  for (const std::string_view piece : pieces) buffer_.append(piece);
  head.length = static_cast<uint32_t>(buffer_.size() - start - sizeof(head));
  constexpr size_t kAfterCrc = sizeof(head.crc);
  head.crc = Crc32c(reinterpret_cast<const char*>(&head) + kAfterCrc, sizeof(head) - kAfterCrc);
  head.crc = Crc32c(buffer_.data() + start + sizeof(head), head.length, head.crc);
  std::memcpy(buffer_.data() + start, &head, sizeof(head));
  buffer_.append((8 - buffer_.size() % 8) % 8, '\0');
  constexpr size_t kBatchBytes = size_t{1} << 20;
  return batching_ && buffer_.size() < kBatchBytes ? 0 : Flush();
}

int DictionaryFile::EndBatch() {
  batching_ = false;
  return Flush();
}

int DictionaryFile::Flush() {
  if (buffer_.empty()) return 0;
  iovec piece{buffer_.data(), buffer_.size()};
  const uint64_t bytes = buffer_.size();
  int result = reserve_is_open_ ? 0 : KeepReserve(size_ + bytes);
  if (result == 0) {
    result = file_.Write(&piece, 1, size_);
    if (result == 0) size_ += bytes;
    if (result != 0) reserved_ = size_;  // it was cut back to the end
  }
  buffer_.clear();
  return result;
}

void DictionaryFile::Close() {
  if (file_.is_open()) file_.Truncate(size_);  // gives back the blocks reserved behind the end
  file_.Close();
}

void DictionaryFile::Remove() { unlink(file_.path().c_str()); }

void DictionaryFile::Abandon() { file_.Close(); }

SegmentWriter::~SegmentWriter() { Close(); }

int SegmentWriter::Create(const CaptureIdentity& identity, int64_t keep_last_ns) {
  identity_ = identity;
  keep_last_ns_ = keep_last_ns;
  return OpenNext(MonotonicNs());
}

int SegmentWriter::OpenNext(int64_t now_ns) {
  OwnFile next;
  const int result =
      CreateWithHeader(FileName(identity_.folder, "events", number_ + 1),
                       MakeHeader(capture::kSegmentMagic, number_ + 1, identity_), &next);
  if (result != 0) return result;
  if (file_.is_open()) {
    old_.push_back({file_.path(), now_ns, size_});
    closed_size_ += size_;
  }
  file_ = std::move(next);
  ++number_;
  size_ = sizeof(capture::FileHeader);
  opened_ns_ = now_ns;
  return 0;
}

int SegmentWriter::Append(const ChunkSource& source, uint64_t* records) {
  capture::ChunkHeader header{};
  header.magic = capture::kChunkMagic;
  header.thread_index = source.thread_index;
  header.first_slot = source.first_slot;
  header.slot_count = source.counts[0] + source.counts[1];
  header.dropped_total = source.dropped_total;
  header.min_ticks = UINT64_MAX;
  *records = 0;
  bool second_of_pair = false;
  iovec iov[3] = {{&header, sizeof(header)}, {nullptr, 0}, {nullptr, 0}};
  for (int i = 0; i < 2; ++i) {
    ScanPiece(source.pieces[i], source.counts[i], &second_of_pair, &header, records);
    const size_t bytes = source.counts[i] * sizeof(capture::Record);
    if (bytes == 0) continue;
    header.payload_crc = Crc32c(source.pieces[i], bytes, header.payload_crc);
    iov[i + 1] = {const_cast<capture::Record*>(source.pieces[i]), bytes};
  }
  if (header.slot_count == 0) header.min_ticks = 0;
  header.header_crc = Crc32c(&header, offsetof(capture::ChunkHeader, header_crc));
  const int result = file_.Write(iov, 3, size_);
  if (result == 0) size_ += sizeof(header) + header.slot_count * sizeof(capture::Record);
  return result;
}

int SegmentWriter::RotateIfDue(int64_t now_ns) {
  const bool large = size_ >= kMaxSegmentBytes;
  const bool old = keep_last_ns_ > 0 && now_ns - opened_ns_ >= keep_last_ns_ / kSegmentsPerSpan &&
                   size_ > sizeof(capture::FileHeader);
  const int result = large || old ? OpenNext(now_ns) : 0;
  if (keep_last_ns_ > 0) DeleteOld(now_ns);
  return result;
}

void SegmentWriter::DeleteOld(int64_t now_ns) {
  while (!old_.empty() && now_ns - old_.front().closed_ns > keep_last_ns_) {
    // A segment that cannot be deleted costs space, nothing else.
    unlink(old_.front().path.c_str());
    closed_size_ -= old_.front().size;
    deleted_size_ += old_.front().size;
    old_.pop_front();
  }
}

void SegmentWriter::Close() { file_.Close(); }

}  // namespace sonde::record
