// torch.save()'s containers: the zip of today, and the row of pickles that came before 1.6.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/strings.h"
#include "precision/tensor/pickle.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;
using base::LoadLe;

constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kZip64Locator = 0x07064b50;
constexpr uint32_t kZip64End = 0x06064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr size_t kEndBytes = 22;
constexpr size_t kDirectoryEntryBytes = 46;
constexpr size_t kLocalHeaderBytes = 30;
// 0x1950a86a20f9469cfc6c, little endian, as the first pickle of the older container holds it.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

// The stored (never compressed) members of a zip file.
class ZipReader {
 public:
  explicit ZipReader(std::string_view file) : file_(file) {}

  Status Open();
  // The bytes of the member whose name ends in `suffix` behind a '/'.
  Result<std::string_view> Find(std::string_view suffix) const;
  bool Has(std::string_view suffix) const { return Lookup(suffix) != nullptr; }

 private:
  struct Member {
    std::string_view name;
    uint64_t offset = 0;
    uint64_t size = 0;
    bool compressed = false;
  };

  template <class T>
  T At(size_t offset) const {
    return LoadLe<T>(file_.data() + offset);
  }
  const Member* Lookup(std::string_view suffix) const;
  Status FindDirectory(uint64_t* offset, uint64_t* entries) const;
  void ReadZip64Extra(std::string_view extra, uint32_t stored_size, uint32_t size32,
                      uint32_t offset32, Member* member) const;

  std::string_view file_;
  std::vector<Member> members_;
};

Status ZipReader::FindDirectory(uint64_t* offset, uint64_t* entries) const {
  if (file_.size() < kEndBytes) return CorruptDataError("too short for a zip file");
  // The end record stands last, before a comment of at most 65535 bytes.
  const size_t lowest = file_.size() - std::min<size_t>(file_.size(), kEndBytes + 0xFFFF);
  for (size_t at = file_.size() - kEndBytes + 1; at-- > lowest;) {
    if (At<uint32_t>(at) != kEndOfDirectory) continue;
    *entries = At<uint16_t>(at + 10);
    *offset = At<uint32_t>(at + 16);
    if (at >= 20 && At<uint32_t>(at - 20) == kZip64Locator) {
      const auto end64 = At<uint64_t>(at - 20 + 8);
      if (end64 > file_.size() || file_.size() - end64 < 56 || At<uint32_t>(end64) != kZip64End) {
        return CorruptDataError("the zip directory is broken");
      }
      *entries = At<uint64_t>(end64 + 32);
      *offset = At<uint64_t>(end64 + 48);
    }
    return Status::Ok();
  }
  return CorruptDataError("neither a torch file nor complete: no zip directory at its end");
}

void ZipReader::ReadZip64Extra(std::string_view extra, uint32_t stored_size, uint32_t size32,
                               uint32_t offset32, Member* member) const {
  while (extra.size() >= 4) {
    const auto id = LoadLe<uint16_t>(extra.data());
    const auto length = LoadLe<uint16_t>(extra.data() + 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return;
    if (id == 1) {
      // Only the fields whose 32-bit form is all ones are here, in this order.
      std::string_view values = extra.substr(0, length);
      const auto take = [&values](uint64_t* out) {
        if (values.size() < 8) return;
        *out = LoadLe<uint64_t>(values.data());
        values.remove_prefix(8);
      };
      uint64_t ignored = 0;
      if (size32 == UINT32_MAX) take(&ignored);
      if (stored_size == UINT32_MAX) take(&member->size);
      if (offset32 == UINT32_MAX) take(&member->offset);
      return;
    }
    extra.remove_prefix(length);
  }
}

Status ZipReader::Open() {
  uint64_t at = 0;
  uint64_t entries = 0;
  SONDE_RETURN_IF_ERROR(FindDirectory(&at, &entries));
  for (uint64_t i = 0; i < entries; ++i) {
    if (at > file_.size() || file_.size() - at < kDirectoryEntryBytes ||
        At<uint32_t>(at) != kDirectoryEntry) {
      return CorruptDataError("the zip directory is broken");
    }
    Member member;
    const auto stored_size = At<uint32_t>(at + 20);
    const auto size = At<uint32_t>(at + 24);
    const size_t name_length = At<uint16_t>(at + 28);
    const size_t extra_length = At<uint16_t>(at + 30);
    const size_t comment_length = At<uint16_t>(at + 32);
    const auto offset = At<uint32_t>(at + 42);
    const size_t tail = name_length + extra_length + comment_length;
    if (file_.size() - at - kDirectoryEntryBytes < tail) {
      return CorruptDataError("the zip directory is broken");
    }
    member.compressed = At<uint16_t>(at + 10) != 0;
    member.size = stored_size;
    member.offset = offset;
    member.name = file_.substr(at + kDirectoryEntryBytes, name_length);
    ReadZip64Extra(file_.substr(at + kDirectoryEntryBytes + name_length, extra_length), stored_size,
                   size, offset, &member);
    members_.push_back(member);
    at += kDirectoryEntryBytes + tail;
  }
  return Status::Ok();
}

const ZipReader::Member* ZipReader::Lookup(std::string_view suffix) const {
  for (const Member& member : members_) {
    const size_t slash = member.name.find('/');
    if (slash != std::string_view::npos && member.name.substr(slash + 1) == suffix) return &member;
  }
  return nullptr;
}

Result<std::string_view> ZipReader::Find(std::string_view suffix) const {
  const Member* const member = Lookup(suffix);
  if (member == nullptr) {
    return CorruptDataError(Concat("the container has no member '", suffix, "'"));
  }
  if (member->compressed) {
    return base::UnimplementedError(Concat("the member '", suffix, "' is compressed"));
  }
  const uint64_t at = member->offset;
  if (at > file_.size() || file_.size() - at < kLocalHeaderBytes ||
      At<uint32_t>(at) != kLocalHeader) {
    return CorruptDataError(Concat("the member '", suffix, "' is broken"));
  }
  const uint64_t begin =
      at + kLocalHeaderBytes + At<uint16_t>(at + 26) + uint64_t{At<uint16_t>(at + 28)};
  if (begin > file_.size() || file_.size() - begin < member->size) {
    return CorruptDataError(Concat("the member '", suffix, "' reaches beyond the file"));
  }
  return file_.substr(begin, member->size);
}

Result<TensorRecord> TensorOf(const Result<PicklePtr>& object) {
  SONDE_RETURN_IF_ERROR(object.status());
  if ((*object)->kind != PickleValue::Kind::kTensor) {
    return base::UnimplementedError("the file does not hold one tensor");
  }
  return *(*object)->tensor;
}

Result<Tensor> MakeTensor(const TensorRecord& record, std::string_view storage) {
  return Tensor::Make(record.dtype, record.shape, record.strides, record.offset,
                      std::as_bytes(std::span(storage)));
}

Result<Tensor> ParseZip(std::string_view file) {
  ZipReader zip(file);
  SONDE_RETURN_IF_ERROR(zip.Open());
  if (zip.Has("byteorder")) {
    SONDE_ASSIGN_OR_RETURN(const std::string_view order, zip.Find("byteorder"));
    if (order != "little") {
      return base::UnimplementedError(Concat("byte order '", order.substr(0, 16), "'"));
    }
  }
  SONDE_ASSIGN_OR_RETURN(const std::string_view pickle, zip.Find("data.pkl"));
  size_t consumed = 0;
  PicklePool pool;
  SONDE_ASSIGN_OR_RETURN(const TensorRecord record, TensorOf(ReadPickle(pickle, &pool, &consumed)));
  SONDE_ASSIGN_OR_RETURN(const std::string_view storage,
                         zip.Find(Concat("data/", record.storage.key)));
  return MakeTensor(record, storage);
}

// Magic number, protocol, machine, object, keys: five pickles; then for each key the number of
// elements (8 bytes) and the elements.
Result<Tensor> ParseLegacy(std::string_view file) {
  PicklePool pool;
  std::vector<PicklePtr> parts;
  for (int i = 0; i < 5; ++i) {
    size_t consumed = 0;
    SONDE_ASSIGN_OR_RETURN(const PicklePtr part, ReadPickle(file, &pool, &consumed));
    parts.push_back(part);
    file.remove_prefix(consumed);
  }
  SONDE_ASSIGN_OR_RETURN(const TensorRecord record, TensorOf(Result<PicklePtr>(parts[3])));
  const size_t size = DtypeSize(record.dtype);
  for (const PicklePtr key : parts[4]->items) {
    if (file.size() < 8) return CorruptDataError("the storages end too early");
    const auto count = LoadLe<uint64_t>(file.data());
    file.remove_prefix(8);
    if (count > file.size() / size) return CorruptDataError("a storage reaches beyond the file");
    if (key->text == record.storage.key) return MakeTensor(record, file.substr(0, count * size));
    file.remove_prefix(count * size);
  }
  return CorruptDataError("the storage of the tensor is missing");
}

bool IsLegacy(std::string_view file) {
  // PROTO 2, LONG1 of ten bytes, the number.
  return file.size() > 14 && file.starts_with("\x80\x02\x8a\x0a") &&
         file.substr(4, kLegacyMagic.size()) == kLegacyMagic;
}

}  // namespace

Result<Tensor> ParseTorchFile(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return IsLegacy(file) ? ParseLegacy(file) : ParseZip(file);
}

}  // namespace sonde::precision
