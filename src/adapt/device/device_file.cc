#include "adapt/device/device_file.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/crc32c.h"
#include "capture/format.h"

namespace sonde::adapt::device {
namespace {

using capture::DeviceChunkHeader;
using capture::DeviceNameHead;
using capture::DeviceRecord;

constexpr int64_t kSecondNs = 1'000'000'000;

}  // namespace

int DeviceFile::Open(const std::string& folder, capture::DeviceVendor vendor,
                     uint32_t keep_last_seconds) {
  folder_ = folder;
  vendor_ = vendor;
  keep_ns_ = int64_t{keep_last_seconds} * kSecondNs;
  number_ = 0;
  written_ = lost_ = 0;
  old_.clear();
  records_.clear();
  return Begin();
}

int DeviceFile::Begin() {
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), "/device_%06u.sonde", ++number_);
  path_ = folder_ + name.data();
  ids_.clear();
  new_names_.clear();
  const int made = file_.Create(path_);
  if (made < 0) return made;
  capture::FileHeader header = {};
  header.magic = capture::kDeviceMagic;
  header.version = capture::kFormatVersion;
  header.file_number = number_;
  header.pid = static_cast<uint32_t>(getpid());
  header.clock_kind = capture::ClockKind::kMonotonicRawNs;
  header.created_realtime_ns = base::RealtimeNs();
  header.header_crc = base::Crc32c(&header, offsetof(capture::FileHeader, header_crc));
  began_ns_ = header.created_realtime_ns;
  size_ = 0;
  iovec piece = {&header, sizeof(header)};
  const int result = file_.Write(&piece, 1, 0);
  if (result != 0) {
    Close();
    return result;
  }
  size_ = sizeof(header);
  return 0;
}

uint32_t DeviceFile::Name(const char* text) {
  if (text == nullptr || *text == '\0') return 0;
  const auto [entry, is_new] = ids_.try_emplace(text, static_cast<uint32_t>(ids_.size() + 1));
  if (is_new) {
    const std::string& name = entry->first;
    const DeviceNameHead head = {entry->second, static_cast<uint32_t>(name.size())};
    new_names_.append(reinterpret_cast<const char*>(&head), sizeof(head));
    new_names_.append(name);
    new_names_.resize((new_names_.size() + 7) / 8 * 8);
  }
  return entry->second;
}

void DeviceFile::Add(const DeviceRecord& record) { records_.push_back(record); }

int DeviceFile::Flush() {
  if (records_.empty() && new_names_.empty()) return 0;
  int result = -EBADF;
  if (is_open()) {
    DeviceChunkHeader header = {};
    header.magic = capture::kDeviceChunkMagic;
    header.name_bytes = static_cast<uint32_t>(new_names_.size());
    header.record_count = static_cast<uint32_t>(records_.size());
    const size_t record_bytes = records_.size() * sizeof(DeviceRecord);
    header.payload_crc = base::Crc32c(records_.data(), record_bytes, base::Crc32c(new_names_));
    header.lost = lost_;
    header.vendor = vendor_;
    header.header_crc = base::Crc32c(&header, offsetof(DeviceChunkHeader, header_crc));
    std::array<iovec, 3> pieces = {iovec{&header, sizeof(header)},
                                   {new_names_.data(), new_names_.size()},
                                   {records_.data(), record_bytes}};
    result = file_.Write(pieces.data(), static_cast<int>(pieces.size()), size_);
    if (result == 0) size_ += sizeof(header) + new_names_.size() + record_bytes;
  }
  if (result == 0) {
    written_ += records_.size();
    new_names_.clear();
  } else {
    lost_ += records_.size();
  }
  records_.clear();
  if (result == 0) NextWhereOld();
  return result;
}

void DeviceFile::NextWhereOld() {
  if (keep_ns_ == 0) return;
  const int64_t now_ns = base::RealtimeNs();
  if (now_ns - began_ns_ < keep_ns_ / 2) return;
  old_.push_back({path_, now_ns});
  Close();
  while (!old_.empty() && old_.front().ended_ns < now_ns - keep_ns_) {
    unlink(old_.front().path.c_str());
    old_.pop_front();
  }
  if (Begin() != 0) Close();  // the next Flush reports it
}

void DeviceFile::Close() { file_.Close(); }

}  // namespace sonde::adapt::device
