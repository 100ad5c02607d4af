#include "store/statement_wire.h"

#include <duckdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/strings.h"

namespace sonde::store::internal {
namespace {

using base::ByteReader;
using base::Concat;

constexpr size_t kFrameHead = sizeof(uint8_t) + sizeof(uint64_t);
// A piece is sent when it has this many bytes.
constexpr size_t kUsualPiece = size_t{4} << 20U;

Status Gone() { return base::UnavailableError("the process of the statements is gone"); }
Status NotOurs() { return base::CorruptDataError("the process of the statements sent nonsense"); }

Status SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Gone();
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Status ReceiveAll(int socket, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Gone();
    to += got;
    size -= static_cast<size_t>(got);
  }
  return {};
}

size_t WidthOf(ValueType type) {
  switch (type) {
    case ValueType::kBool:
    case ValueType::kInt8:
    case ValueType::kUint8:
      return 1;
    case ValueType::kInt16:
    case ValueType::kUint16:
      return 2;
    case ValueType::kInt32:
    case ValueType::kUint32:
    case ValueType::kFloat:
      return 4;
    case ValueType::kInt64:
    case ValueType::kUint64:
    case ValueType::kDouble:
      return 8;
    case ValueType::kHugeInt:
      return 16;
    case ValueType::kText:
    case ValueType::kOther:
      break;
  }
  return 0;
}

// The address of the values of a column, whatever their type.
const char* ValuesOf(const Chunk& chunk, size_t column) {
  switch (chunk.type(column)) {
    case ValueType::kBool:
      return reinterpret_cast<const char*>(chunk.Values<bool>(column).data());
    case ValueType::kInt8:
      return reinterpret_cast<const char*>(chunk.Values<int8_t>(column).data());
    case ValueType::kUint8:
      return reinterpret_cast<const char*>(chunk.Values<uint8_t>(column).data());
    case ValueType::kInt16:
      return reinterpret_cast<const char*>(chunk.Values<int16_t>(column).data());
    case ValueType::kUint16:
      return reinterpret_cast<const char*>(chunk.Values<uint16_t>(column).data());
    case ValueType::kInt32:
      return reinterpret_cast<const char*>(chunk.Values<int32_t>(column).data());
    case ValueType::kUint32:
      return reinterpret_cast<const char*>(chunk.Values<uint32_t>(column).data());
    case ValueType::kFloat:
      return reinterpret_cast<const char*>(chunk.Values<float>(column).data());
    case ValueType::kInt64:
      return reinterpret_cast<const char*>(chunk.Values<int64_t>(column).data());
    case ValueType::kUint64:
      return reinterpret_cast<const char*>(chunk.Values<uint64_t>(column).data());
    case ValueType::kDouble:
      return reinterpret_cast<const char*>(chunk.Values<double>(column).data());
    case ValueType::kHugeInt:
      return reinterpret_cast<const char*>(chunk.Values<HugeInt>(column).data());
    case ValueType::kText:
    case ValueType::kOther:
      break;
  }
  return nullptr;
}

size_t RowBytes(const Chunk& chunk, size_t row) {
  size_t bytes = 0;
  for (size_t i = 0; i < chunk.columns(); ++i) {
    const bool is_text = chunk.type(i) == ValueType::kText;
    bytes += is_text ? sizeof(uint64_t) + chunk.Text(i, row).size() : WidthOf(chunk.type(i));
    bytes += 1;
  }
  return bytes;
}

// One column of a piece as a Chunk wants it.
struct PieceColumn {
  std::vector<uint64_t> values;  // aligned for every type
  std::vector<duckdb_string_t> texts;
  std::vector<uint64_t> validity;

  bool Read(ByteReader& reader, ValueType type, size_t rows) {
    validity.assign((rows + 63) / 64, 0);
    for (size_t row = 0; row < rows; ++row) {
      if (reader.Read<uint8_t>() != 0) validity[row / 64] |= uint64_t{1} << (row % 64);
    }
    if (type == ValueType::kText) return ReadTexts(reader, rows);
    const auto bytes = reader.ReadBytes(rows * WidthOf(type));
    values.resize((bytes.size() + 7) / 8);
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return reader.ok();
  }
  bool ReadTexts(ByteReader& reader, size_t rows) {
    texts.resize(rows);
    for (duckdb_string_t& text : texts) {
      const auto size = static_cast<size_t>(reader.Read<uint64_t>());
      const std::string_view bytes = reader.ReadText(size);
      text.value.inlined.length = static_cast<uint32_t>(bytes.size());
      if (bytes.size() <= sizeof(text.value.inlined.inlined)) {
        std::ranges::copy(bytes, std::begin(text.value.inlined.inlined));
      } else {
        text.value.pointer.ptr = const_cast<char*>(bytes.data());
      }
    }
    return reader.ok();
  }
  void* data() { return texts.empty() ? static_cast<void*>(values.data()) : texts.data(); }
};

}  // namespace

Status SendFrame(int socket, FrameKind kind, std::string_view bytes) {
  if (bytes.size() > kMostFrameBytes) return base::OutOfRangeError("more than a frame holds");
  std::array<char, kFrameHead> head;
  head[0] = static_cast<char>(kind);
  base::StoreLe(head.data() + 1, static_cast<uint64_t>(bytes.size()));
  SONDE_RETURN_IF_ERROR(SendAll(socket, {head.data(), head.size()}));
  return SendAll(socket, bytes);
}

Result<Frame> ReceiveFrame(int socket) {
  std::array<char, kFrameHead> head;
  SONDE_RETURN_IF_ERROR(ReceiveAll(socket, head.data(), head.size()));
  const auto size = base::LoadLe<uint64_t>(head.data() + 1);
  if (size > kMostFrameBytes) return NotOurs();
  Frame frame{.kind = static_cast<FrameKind>(head[0]), .bytes = std::string(size, '\0')};
  SONDE_RETURN_IF_ERROR(ReceiveAll(socket, frame.bytes.data(), frame.bytes.size()));
  return frame;
}

std::string ReadFrameText(ByteReader& reader) {
  return std::string(reader.ReadText(static_cast<size_t>(reader.Read<uint64_t>())));
}

void PutStatus(FrameBytes& bytes, const Status& status) {
  bytes.Put(static_cast<uint8_t>(status.code()));
  bytes.Text(status.message());
}

Status ReadStatus(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto code = static_cast<StatusCode>(reader.Read<uint8_t>());
  std::string message = ReadFrameText(reader);
  if (!reader.ok() || code > StatusCode::kInternal) return NotOurs();
  return code == StatusCode::kOk ? Status() : Status(code, std::move(message));
}

void PutColumns(FrameBytes& bytes, const std::vector<QueryColumn>& columns) {
  bytes.Put(static_cast<uint32_t>(columns.size()));
  for (const QueryColumn& column : columns) {
    bytes.Text(column.name);
    bytes.Put(column.type);
    bytes.Put(column.is_decimal);
    bytes.Put(column.is_json);
  }
}

Result<std::vector<QueryColumn>> ReadColumns(std::string_view bytes) {
  ByteReader reader(bytes);
  std::vector<QueryColumn> columns;
  const auto count = reader.Read<uint32_t>();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    QueryColumn& column = columns.emplace_back();
    column.name = ReadFrameText(reader);
    column.type = static_cast<ValueType>(reader.Read<uint8_t>());
    column.is_decimal = reader.Read<uint8_t>() != 0;
    column.is_json = reader.Read<uint8_t>() != 0;
  }
  if (!reader.ok()) return NotOurs();
  return columns;
}

Result<size_t> PutPiece(FrameBytes& bytes, const Chunk& chunk, size_t begin) {
  size_t end = begin;
  for (size_t size = 0; end < chunk.rows(); ++end) {
    const size_t row = RowBytes(chunk, end);
    if (row > kMostFrameBytes / 2) {
      return base::OutOfRangeError(Concat("a row of the result has ", std::to_string(row >> 20U),
                                          " MB; 128 MB are the most"));
    }
    size += row;
    if (size > kUsualPiece && end > begin) break;
  }
  const size_t rows = end - begin;
  bytes.Put(static_cast<uint64_t>(rows));
  bytes.Put(static_cast<uint32_t>(chunk.columns()));
  for (size_t i = 0; i < chunk.columns(); ++i) {
    const ValueType type = chunk.type(i);
    bytes.Put(type);
    for (size_t row = begin; row < end; ++row) {
      bytes.Put(static_cast<uint8_t>(chunk.IsNull(i, row) ? 0 : 1));
    }
    if (type != ValueType::kText) {
      bytes.Raw(ValuesOf(chunk, i) + begin * WidthOf(type), rows * WidthOf(type));
      continue;
    }
    for (size_t row = begin; row < end; ++row) bytes.Text(chunk.Text(i, row));
  }
  return end;
}

Status ReadPiece(std::string_view bytes, const std::function<Status(const Chunk&)>& consume) {
  ByteReader reader(bytes);
  const auto rows = static_cast<size_t>(reader.Read<uint64_t>());
  const auto count = static_cast<size_t>(reader.Read<uint32_t>());
  if (rows > bytes.size() || count > bytes.size()) return NotOurs();
  std::vector<PieceColumn> held(count);
  std::vector<Chunk::Column> columns(count);
  for (size_t i = 0; i < count; ++i) {
    columns[i].type = static_cast<ValueType>(reader.Read<uint8_t>());
    if (!held[i].Read(reader, columns[i].type, rows)) return NotOurs();
    columns[i].data = held[i].data();
    columns[i].validity = held[i].validity.data();
  }
  return consume(Chunk(rows, std::move(columns)));
}

}  // namespace sonde::store::internal
