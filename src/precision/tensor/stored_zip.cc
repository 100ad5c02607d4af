#include "precision/tensor/stored_zip.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/strings.h"

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

}  // namespace

Status StoredZip::FindDirectory(uint64_t* offset, uint64_t* entries) const {
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

void StoredZip::ReadZip64Extra(std::string_view extra, uint32_t stored_size, uint32_t size32,
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

Status StoredZip::Open() {
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
    const std::string_view name = file_.substr(at + kDirectoryEntryBytes, name_length);
    ReadZip64Extra(file_.substr(at + kDirectoryEntryBytes + name_length, extra_length), stored_size,
                   size, offset, &member);
    const size_t slash = name.find('/');
    if (slash != std::string_view::npos) members_.emplace(name.substr(slash + 1), member);
    at += kDirectoryEntryBytes + tail;
  }
  return Status::Ok();
}

const StoredZip::Member* StoredZip::Lookup(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

Result<std::string_view> StoredZip::Find(std::string_view name) const {
  const Member* const member = Lookup(name);
  if (member == nullptr) {
    return CorruptDataError(Concat("the container has no member '", name, "'"));
  }
  if (member->compressed) {
    return base::UnimplementedError(Concat("the member '", name, "' is compressed"));
  }
  const uint64_t at = member->offset;
  if (at > file_.size() || file_.size() - at < kLocalHeaderBytes ||
      At<uint32_t>(at) != kLocalHeader) {
    return CorruptDataError(Concat("the member '", name, "' is broken"));
  }
  const uint64_t begin =
      at + kLocalHeaderBytes + At<uint16_t>(at + 26) + uint64_t{At<uint16_t>(at + 28)};
  if (begin > file_.size() || file_.size() - begin < member->size) {
    return CorruptDataError(Concat("the member '", name, "' reaches beyond the file"));
  }
  return file_.substr(begin, member->size);
}

}  // namespace sonde::precision
