#include "importers/ascend_raw/framework_records.h"

#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

template <class... Fields>
void ReadAll(base::ByteReader& reader, Fields&... fields) {
  ((fields = reader.Read<Fields>()), ...);
}

// A byte with a sign.
int16_t ReadSigned(base::ByteReader& reader) {
  constexpr int kSign = 0x80;
  return static_cast<int16_t>((reader.Read<uint8_t>() ^ kSign) - kSign);
}

}  // namespace

void ReadFixed(base::ByteReader& reader, OpRange& record) {
  ReadAll(reader, record.begin, record.end, record.sequence, record.pid, record.tid, record.end_tid,
          record.forward_thread, record.scope);
  record.is_async = reader.Read<uint8_t>() != 0;
}

void ReadFixed(base::ByteReader& reader, OpMark& record) {
  ReadAll(reader, record.time, record.kind, record.correlation, record.tid, record.pid);
}

void ReadFixed(base::ByteReader& reader, MemoryUse& record) {
  ReadAll(reader, record.pointer, record.time, record.size, record.total_allocated,
          record.total_reserved, record.total_active, record.stream);
  record.device_type = ReadSigned(reader);
  record.device_index = ReadSigned(reader);
  ReadAll(reader, record.component, record.kind, record.allocator, record.tid, record.pid);
}

void ReadFixed(base::ByteReader& reader, PythonCall& record) {
  ReadAll(reader, record.time, record.tid, record.pid, record.key, record.kind);
}

void ReadFixed(base::ByteReader& reader, PythonName& record) { ReadAll(reader, record.key); }

void ReadFixed(base::ByteReader& reader, GcRecord& record) {
  ReadAll(reader, record.pid, record.begin, record.end);
}

void ReadField(uint16_t id, std::string_view text, OpRange& record) {
  if (id == 2) record.name = text;
  if (id == 3) record.types = text;
  if (id == 4) record.shapes = text;
  if (id == 8) record.stack = text;
  if (id == 9) record.modules = text;
}

void ReadField(uint16_t id, std::string_view text, OpMark& record) {
  if (id == 1) record.name = text;
}

void ReadField(uint16_t /*id*/, std::string_view /*text*/, MemoryUse& /*record*/) {}

void ReadField(uint16_t id, std::string_view text, PythonName& record) {
  if (id == 1) record.text = text;
}

bool NextFrame(const RecordFile& file, base::ByteReader& reader, Frame& frame) {
  if (reader.remaining() == 0) return false;
  frame.position = static_cast<int64_t>(reader.position());
  frame.type = reader.Read<uint16_t>();
  const auto size = reader.Read<uint32_t>();
  frame.value = reader.ReadText(size);
  if (reader.ok()) return true;
  file.issues.Add(kCutOff, file.name, frame.position);
  return false;
}

void CountBad(const RecordFile& file, int64_t position) {
  file.issues.Add(kBadRecord, file.name, position);
}

void CountRest(const RecordFile& file, size_t size) {
  const size_t rest = file.bytes.size() % size;
  if (rest == 0) return;
  file.issues.Add(kCutOff, file.name, static_cast<int64_t>(file.bytes.size() - rest));
}

}  // namespace sonde::importers::raw
