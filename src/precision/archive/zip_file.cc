#include "precision/archive/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::CorruptDataError;

constexpr size_t kPieceBytes = size_t{256} << 10U;
constexpr std::string_view kEntryMark("PK\x01\x02", 4);
constexpr std::string_view kEndMark("PK\x05\x06", 4);

// Little-endian numbers at a place that may lie outside.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  uint32_t At(size_t offset, size_t size) const {
    uint32_t out = 0;
    for (size_t i = 0; i < size && offset + i < text_.size(); ++i) {
      out |= uint32_t{static_cast<uint8_t>(text_[offset + i])} << (8 * i);
    }
    return out;
  }
  bool Holds(size_t offset, size_t size) const {
    return offset <= text_.size() && size <= text_.size() - offset;
  }

 private:
  std::string_view text_;
};

using TakePiece = std::function<Status(std::string_view)>;

// Unpacks `packed`, which gives `size` bytes where it is whole.
Status Inflate(std::string_view packed, size_t size, const TakePiece& take) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return base::InternalError("inflate failed");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, &inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string piece(kPieceBytes, '\0');
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
    const size_t made = piece.size() - stream.avail_out;
    if (made == 0 && code != Z_STREAM_END) break;
    SONDE_RETURN_IF_ERROR(take(std::string_view(piece).substr(0, made)));
  }
  const bool is_whole = code == Z_STREAM_END && stream.total_out == size;
  return is_whole ? Status() : CorruptDataError("a part cannot be unpacked");
}

// Calls visit(offset of the entry, name) until it returns false.
Status VisitEntries(std::string_view file,
                    const std::function<bool(size_t at, std::string_view name)>& visit) {
  const size_t end = file.rfind(kEndMark);
  const Bytes bytes(file);
  if (end == std::string_view::npos || !bytes.Holds(end, 22)) {
    return CorruptDataError("is no zip file: it has no directory");
  }
  size_t at = bytes.At(end + 16, 4);
  for (uint32_t i = 0; i < bytes.At(end + 10, 2); ++i) {
    if (!bytes.Holds(at, 46) || file.substr(at, 4) != kEntryMark) {
      return CorruptDataError("its directory is broken");
    }
    const size_t name_size = bytes.At(at + 28, 2);
    if (bytes.Holds(at + 46, name_size) && !visit(at, file.substr(at + 46, name_size))) break;
    at += 46 + name_size + bytes.At(at + 30, 2) + bytes.At(at + 32, 2);
  }
  return Status::Ok();
}

void AppendLittle(uint32_t value, size_t size, std::string* out) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

// The fields shared by the header of a member and its entry in the directory.
void AppendMemberFields(const std::pair<std::string, std::string>& member, std::string* out) {
  constexpr uint32_t kUtf8Names = 0x800;
  constexpr uint32_t kDate1980 = 0x21;
  const std::string& text = member.second;
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  AppendLittle(20, 2, out);  // version that can read it
  AppendLittle(kUtf8Names, 2, out);
  AppendLittle(0, 2, out);  // not packed
  AppendLittle(0, 2, out);  // time
  AppendLittle(kDate1980, 2, out);
  AppendLittle(static_cast<uint32_t>(crc), 4, out);
  AppendLittle(static_cast<uint32_t>(text.size()), 4, out);
  AppendLittle(static_cast<uint32_t>(text.size()), 4, out);
  AppendLittle(static_cast<uint32_t>(member.first.size()), 2, out);
  AppendLittle(0, 2, out);  // no extra field
}

}  // namespace

Result<std::vector<std::string>> ZipNames(std::string_view file) {
  std::vector<std::string> out;
  SONDE_RETURN_IF_ERROR(VisitEntries(file, [&out](size_t, std::string_view name) {
    out.emplace_back(name);
    return true;
  }));
  return out;
}

Result<bool> StreamZipMember(std::string_view file, std::string_view name, const TakePiece& take) {
  size_t entry = std::string_view::npos;
  SONDE_RETURN_IF_ERROR(VisitEntries(file, [&](size_t at, std::string_view other) {
    if (other == name) entry = at;
    return entry == std::string_view::npos;
  }));
  if (entry == std::string_view::npos) return false;
  const Bytes bytes(file);
  const size_t packed_size = bytes.At(entry + 20, 4);
  const size_t local = bytes.At(entry + 42, 4);
  const size_t begin = local + 30 + bytes.At(local + 26, 2) + bytes.At(local + 28, 2);
  if (!bytes.Holds(local, 30) || !bytes.Holds(begin, packed_size)) {
    return CorruptDataError("a part reaches beyond the file");
  }
  std::string_view packed = file.substr(begin, packed_size);
  if (bytes.At(entry + 10, 2) != 0) {
    SONDE_RETURN_IF_ERROR(Inflate(packed, bytes.At(entry + 24, 4), take));
    return true;
  }
  for (; !packed.empty(); packed.remove_prefix(std::min(packed.size(), kPieceBytes))) {
    SONDE_RETURN_IF_ERROR(take(packed.substr(0, kPieceBytes)));
  }
  return true;
}

Result<std::optional<std::string>> ReadZipMember(std::string_view file, std::string_view name,
                                                 size_t max_bytes) {
  std::string text;
  SONDE_ASSIGN_OR_RETURN(
      const bool is_there, StreamZipMember(file, name, [&](std::string_view piece) -> Status {
        if (piece.size() > max_bytes - text.size()) {
          return base::OutOfRangeError(
              base::Concat("its part '", name, "' is larger than ", base::FormatBytes(max_bytes)));
        }
        text += piece;
        return {};
      }));
  if (!is_there) return std::optional<std::string>();
  return std::optional<std::string>(std::move(text));
}

std::string MakeZip(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out;
  std::string directory;
  for (const auto& member : members) {
    const auto offset = static_cast<uint32_t>(out.size());
    out += "PK\x03\x04";
    AppendMemberFields(member, &out);
    out += member.first;
    out += member.second;
    directory += kEntryMark;
    AppendLittle(20, 2, &directory);  // version that wrote it
    AppendMemberFields(member, &directory);
    directory.append(10, '\0');  // comment, disk, attributes
    AppendLittle(offset, 4, &directory);
    directory += member.first;
  }
  const auto begin = static_cast<uint32_t>(out.size());
  const auto count = static_cast<uint32_t>(members.size());
  out += directory;
  out += kEndMark;
  AppendLittle(0, 4, &out);  // one disk
  AppendLittle(count, 2, &out);
  AppendLittle(count, 2, &out);
  AppendLittle(static_cast<uint32_t>(directory.size()), 4, &out);
  AppendLittle(begin, 4, &out);
  AppendLittle(0, 2, &out);  // no comment
  return out;
}

}  // namespace sonde::precision
