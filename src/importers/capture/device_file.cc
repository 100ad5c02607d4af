#include "importers/capture/device_file.h"

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "importers/capture/file_header.h"
#include "importers/capture/issues.h"
#include "importers/common/part_file.h"

namespace sonde::importers::capture_import {
namespace {

using base::LoadLe;
using capture::DeviceChunkHeader;
using capture::DeviceNameHead;
using capture::DeviceRecord;

class DeviceFileReader {
 public:
  DeviceFileReader(std::span<const std::byte> bytes, std::string_view file, Dictionary& dictionary,
                   store::ImportIssues& issues)
      : bytes_(bytes), file_(file), dictionary_(dictionary), issues_(issues) {}

  void Read(DeviceRecords& out) {
    size_t position = sizeof(capture::FileHeader);
    while (position < bytes_.size()) {
      const auto header = HeaderAt(position);
      if (!header) {
        const size_t next = NextChunk(position + 1);
        issues_.Add(next == bytes_.size() ? kTruncatedFile : kGarbledChunk, file_,
                    static_cast<int64_t>(position));
        position = next;
        continue;
      }
      const size_t size = header->name_bytes + size_t{header->record_count} * sizeof(DeviceRecord);
      const size_t payload = position + sizeof(DeviceChunkHeader);
      if (size > bytes_.size() - payload) {
        issues_.Add(kTruncatedFile, file_, static_cast<int64_t>(position));
        position = NextChunk(payload);
        continue;
      }
      if (base::Crc32c(bytes_.data() + payload, size) == header->payload_crc) {
        TakeNames(payload, header->name_bytes);
        TakeRecords(payload + header->name_bytes, header->record_count, out.records);
        out.vendor = header->vendor;
        lost_ = header->lost;
      } else {
        issues_.Add(kGarbledChunk, file_, static_cast<int64_t>(position));
      }
      position = payload + size;
    }
    if (lost_ > 0) issues_.Add(kDropped, file_, -1, static_cast<int64_t>(lost_));
  }

 private:
  std::optional<DeviceChunkHeader> HeaderAt(size_t position) const {
    if (bytes_.size() - position < sizeof(DeviceChunkHeader)) return std::nullopt;
    const auto header = LoadLe<DeviceChunkHeader>(bytes_.data() + position);
    if (header.magic != capture::kDeviceChunkMagic) return std::nullopt;
    const uint32_t crc =
        base::Crc32c(bytes_.data() + position, offsetof(DeviceChunkHeader, header_crc));
    return crc == header.header_crc ? std::optional(header) : std::nullopt;
  }

  size_t NextChunk(size_t position) const {
    for (; position + sizeof(DeviceChunkHeader) <= bytes_.size(); ++position) {
      if (HeaderAt(position)) return position;
    }
    return bytes_.size();
  }

  void TakeNames(size_t position, size_t size) {
    const size_t end = position + size;
    while (end - position >= sizeof(DeviceNameHead)) {
      const auto head = LoadLe<DeviceNameHead>(bytes_.data() + position);
      position += sizeof(DeviceNameHead);
      const size_t padded = (size_t{head.length} + 7) / 8 * 8;
      if (padded > end - position) {
        issues_.Add(kGarbledDictionary, file_, static_cast<int64_t>(position));
        return;
      }
      const char* text = reinterpret_cast<const char*>(bytes_.data() + position);
      ids_[head.id] = static_cast<uint32_t>(dictionary_.names.size());
      dictionary_.names.emplace_back(text, head.length);
      position += padded;
    }
  }

  void TakeRecords(size_t position, size_t count, std::vector<DeviceRecord>& out) {
    for (size_t i = 0; i < count; ++i, position += sizeof(DeviceRecord)) {
      auto record = LoadLe<DeviceRecord>(bytes_.data() + position);
      const bool is_known = record.kind >= 1 && record.kind <= 5;
      const bool has_times = record.start_ns > 0 && record.end_ns >= record.start_ns;
      if (!is_known || !has_times) {
        issues_.Add(is_known ? kDeviceTimes : kUnknownRecord, file_,
                    static_cast<int64_t>(position));
        continue;
      }
      record.name = NameOf(record.name);
      record.type = NameOf(record.type);
      record.group = NameOf(record.group);
      out.push_back(record);
    }
  }

  uint32_t NameOf(uint32_t id) {
    if (id == 0) return 0;
    const auto known = ids_.find(id);
    if (known != ids_.end()) return known->second;
    issues_.Add(kUnknownId, file_);
    return 0;
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  Dictionary& dictionary_;
  store::ImportIssues& issues_;
  std::unordered_map<uint32_t, uint32_t> ids_;
  uint64_t lost_ = 0;
};

}  // namespace

Result<DeviceRecords> ReadDeviceFiles(const std::vector<std::string>& files, Dictionary& dictionary,
                                      store::ImportIssues& issues) {
  DeviceRecords device;
  if (dictionary.names.empty()) dictionary.names.emplace_back();  // number 0 is none
  for (const std::string& file : files) {
    auto bytes = base::MappedFile::Open(file);
    if (!bytes.ok()) {
      if (IsGone(file, bytes.status())) return bytes.status();
      CountUnreadable(base::BaseName(file), bytes.status(), issues);
      continue;
    }
    const std::string_view name = base::BaseName(file);
    if (!ReadHeader(bytes->bytes(), capture::kDeviceMagic, name, issues)) continue;
    device.files.push_back(std::move(*bytes));
    DeviceFileReader(device.files.back().bytes(), name, dictionary, issues).Read(device);
  }
  return device;
}

}  // namespace sonde::importers::capture_import
