// The files of FRAMEWORK/torch.*: their layout, and their records one by one.
//
// Files of frames: u16 type, u32 length, then that many bytes, which are a struct of fixed size and
// behind it fields of the same form (u16 id, u32 length, text). Files of plain structs: one behind
// the other. All little-endian. A frame that passes the end of the file ends it and is counted;
// frames that are too short for their kind, or of another kind, are skipped and counted. Texts
// point into the file's bytes. Times are ticks or nanoseconds (clock.h). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "store/import_issues.h"

namespace sonde::importers::raw {

// The file that is read, and the counter of its problems.
struct RecordFile {
  std::string_view name;
  std::string_view bytes;
  store::ImportIssues& issues;
};

struct OpRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  int64_t sequence = -1;
  uint64_t pid = 0;
  uint64_t tid = 0;
  uint64_t end_tid = 0;
  uint64_t forward_thread = 0;
  uint8_t scope = 0;
  bool is_async = false;
  std::string_view name = {};
  std::string_view types = {};
  std::string_view shapes = {};
  std::string_view stack = {};
  std::string_view modules = {};
};

struct OpMark {
  enum Kind : uint64_t { kEnqueueBegin, kEnqueueEnd, kDequeueBegin, kDequeueEnd };
  uint64_t time = 0;
  uint64_t kind = 0;
  uint64_t correlation = 0;
  uint64_t tid = 0;
  uint64_t pid = 0;
  std::string_view name = {};
};

struct MemoryUse {
  enum Kind : uint8_t { kMalloc, kFree, kBlockFree };
  int64_t pointer = 0;
  uint64_t time = 0;
  int64_t size = 0;
  int64_t total_allocated = 0;
  int64_t total_reserved = 0;
  int64_t total_active = 0;
  int64_t stream = 0;
  int16_t device_type = 0;  // 0 CPU, 20 NPU
  int16_t device_index = 0;
  uint8_t component = 0;  // 0 caching allocator, 1 workspace
  uint8_t kind = 0;
  uint8_t allocator = 0;  // 0 inner, 1 external
  uint64_t tid = 0;
  uint64_t pid = 0;
};

struct PythonCall {
  enum Kind : uint8_t { kCall, kReturn, kCCall, kCReturn };
  uint64_t time = 0;
  uint64_t tid = 0;
  uint64_t pid = 0;
  uint64_t key = 0;
  uint8_t kind = 0;
};

struct PythonName {
  uint64_t key = 0;
  std::string_view text = {};
};

struct GcRecord {
  uint64_t pid = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Reads `record` from a struct of its fixed size, or one of its fields.
void ReadFixed(base::ByteReader& reader, OpRange& record);
void ReadFixed(base::ByteReader& reader, OpMark& record);
void ReadFixed(base::ByteReader& reader, MemoryUse& record);
void ReadFixed(base::ByteReader& reader, PythonCall& record);
void ReadFixed(base::ByteReader& reader, PythonName& record);
void ReadFixed(base::ByteReader& reader, GcRecord& record);
void ReadField(uint16_t id, std::string_view text, OpRange& record);
void ReadField(uint16_t id, std::string_view text, OpMark& record);
void ReadField(uint16_t id, std::string_view text, MemoryUse& record);
void ReadField(uint16_t id, std::string_view text, PythonName& record);

template <class Record>
struct FileLayout;
template <>
struct FileLayout<OpRange> {
  static constexpr uint16_t kType = 1;
};
template <>
struct FileLayout<OpMark> {
  static constexpr uint16_t kType = 2;
};
template <>
struct FileLayout<MemoryUse> {
  static constexpr uint16_t kType = 3;
};
template <>
struct FileLayout<PythonName> {
  static constexpr uint16_t kType = 4;
};
template <>
struct FileLayout<PythonCall> {
  static constexpr size_t kSize = 33;
};
template <>
struct FileLayout<GcRecord> {
  static constexpr size_t kSize = 24;
};

// A frame's value and its position; false at the end of the file.
struct Frame {
  uint16_t type = 0;
  std::string_view value = {};
  int64_t position = 0;
};
bool NextFrame(const RecordFile& file, base::ByteReader& reader, Frame& frame);
// Calls `take` for every field; false where one passes the end.
template <class Record>
bool ReadFields(base::ByteReader& reader, Record& record) {
  while (reader.ok() && reader.remaining() > 0) {
    const auto id = reader.Read<uint16_t>();
    const auto size = reader.Read<uint32_t>();
    const std::string_view text = reader.ReadText(size);
    if (!reader.ok()) return false;
    ReadField(id, text, record);
  }
  return reader.ok();
}
void CountBad(const RecordFile& file, int64_t position);
// Counts the rest of a file of structs that is shorter than one.
void CountRest(const RecordFile& file, size_t size);

// Files of frames.
template <class Record, class Take>
void ReadFrames(const RecordFile& file, Take&& take) {
  base::ByteReader reader(file.bytes);
  Frame frame;
  while (NextFrame(file, reader, frame)) {
    Record record;
    base::ByteReader value(frame.value);
    ReadFixed(value, record);
    if (frame.type != FileLayout<Record>::kType || !value.ok() || !ReadFields(value, record)) {
      CountBad(file, frame.position);
      continue;
    }
    take(record);
  }
}

// Files of plain structs.
template <class Record, class Take>
void ReadStructs(const RecordFile& file, Take&& take) {
  constexpr size_t kSize = FileLayout<Record>::kSize;
  base::ByteReader reader(file.bytes);
  while (reader.remaining() >= kSize) {
    Record record;
    ReadFixed(reader, record);
    take(record);
  }
  CountRest(file, kSize);
}

}  // namespace sonde::importers::raw
