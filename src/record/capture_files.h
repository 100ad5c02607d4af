// Writers of the two kinds of append-only capture files (layout: capture/format.h).
//
// Each append is one write; one that fails leaves the file as it was before. Results are 0 or a
// negative errno. Not thread-safe: the dictionary file is used under the dictionary's mutex, the
// segment file by the one thread that drains.
#ifndef SONDE_RECORD_CAPTURE_FILES_H_
#define SONDE_RECORD_CAPTURE_FILES_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>

#include "capture/format.h"
#include "record/file.h"

namespace sonde::record {

// Common to all files of one capture.
struct CaptureIdentity {
  std::string folder;  // <span>/SONDE
  uint64_t session_id = 0;
  uint32_t pid = 0;
  capture::ClockKind clock_kind = capture::ClockKind::kTsc;
};

class DictionaryFile {
 public:
  DictionaryFile() = default;
  ~DictionaryFile();
  DictionaryFile(const DictionaryFile&) = delete;
  DictionaryFile& operator=(const DictionaryFile&) = delete;

  [[nodiscard]] int Create(const CaptureIdentity& identity, uint32_t number);
  // Payload is the pieces one after another. Written at once, unless between BeginBatch and
  // EndBatch.
  [[nodiscard]] int Append(capture::EntryType type, uint32_t id,
                           std::initializer_list<std::string_view> pieces);
  void BeginBatch() { batching_ = true; }
  [[nodiscard]] int EndBatch();
  // From now on entries may take the space that was kept for the end of the session. Before that an
  // entry fails when there is no more behind it: on a full disk, too, the reason can be written.
  void OpenReserve() { reserve_is_open_ = true; }
  void Close();
  void Abandon();  // in the child of a fork: the file is the parent's
  void Remove();   // its name; after Close

  uint64_t size_bytes() const { return size_; }

 private:
  [[nodiscard]] int Flush();
  [[nodiscard]] int KeepReserve(uint64_t end);

  OwnFile file_;
  uint64_t size_ = 0;
  uint64_t reserved_ = 0;  // the file has blocks up to here
  bool reserve_is_open_ = false;
  bool batching_ = false;
  std::string buffer_;
};

// The result of draining one ring: one or two pieces of the ring, in order.
struct ChunkSource {
  uint32_t thread_index = 0;
  uint64_t first_slot = 0;
  uint64_t dropped_total = 0;
  const capture::Record* pieces[2] = {nullptr, nullptr};
  uint32_t counts[2] = {0, 0};
};

class SegmentWriter {
 public:
  SegmentWriter() = default;
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // keep_last_ns 0: keep all segments.
  [[nodiscard]] int Create(const CaptureIdentity& identity, int64_t keep_last_ns);
  // *records: records in the chunk (a memory record takes two slots).
  [[nodiscard]] int Append(const ChunkSource& source, uint64_t* records);
  // Starts a new segment where the present one is large or old, and deletes segments that ended
  // longer ago than the time to keep. now_ns: CLOCK_MONOTONIC.
  [[nodiscard]] int RotateIfDue(int64_t now_ns);
  void Close();

  uint64_t size_bytes() const { return deleted_size_ + closed_size_ + size_; }  // ever written
  uint64_t bytes_on_disk() const { return closed_size_ + size_; }

 private:
  struct OldSegment {
    std::string path;
    int64_t closed_ns;
    uint64_t size;
  };
  [[nodiscard]] int OpenNext(int64_t now_ns);
  void DeleteOld(int64_t now_ns);

  CaptureIdentity identity_;
  int64_t keep_last_ns_ = 0;
  OwnFile file_;
  uint32_t number_ = 0;
  uint64_t size_ = 0;
  uint64_t closed_size_ = 0;
  uint64_t deleted_size_ = 0;
  int64_t opened_ns_ = 0;
  std::deque<OldSegment> old_;
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_CAPTURE_FILES_H_
