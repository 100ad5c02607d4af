// Writer of device_000001.sonde (capture/device_format.h): chunks of records, appended whole.
//
// A chunk that cannot be written (disk full) ends the file: later records are counted as lost. With
// `keep_last_seconds` a file of the next number begins after half of that time, and those that
// ended before it are removed. Threads: one at a time. No exceptions.
#ifndef SONDE_ADAPT_DEVICE_DEVICE_FILE_H_
#define SONDE_ADAPT_DEVICE_DEVICE_FILE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/device_format.h"
#include "record/file.h"

namespace sonde::adapt::device {

class DeviceFile {
 public:
  // `folder`: SONDE of the span. 0 or a negative errno.
  [[nodiscard]] int Open(const std::string& folder, capture::DeviceVendor vendor,
                         uint32_t keep_last_seconds);
  bool is_open() const { return file_.is_open(); }

  uint32_t Name(const char* text);  // 0 for null
  void Add(const capture::DeviceRecord& record);
  // Writes the records since the last call.
  [[nodiscard]] int Flush();
  void Close();

  uint64_t records() const { return written_; }
  uint64_t lost() const { return lost_; }

 private:
  struct OldFile {
    std::string path;
    int64_t ended_ns;
  };
  [[nodiscard]] int Begin();
  void NextWhereOld();

  record::OwnFile file_;
  capture::DeviceVendor vendor_ = capture::DeviceVendor::kAscend;
  uint32_t number_ = 0;
  int64_t began_ns_ = 0;
  int64_t keep_ns_ = 0;
  std::string folder_;
  std::string path_;
  std::deque<OldFile> old_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::string new_names_;  // in the form of a chunk
  std::vector<capture::DeviceRecord> records_;
  uint64_t written_ = 0;
  uint64_t lost_ = 0;
  uint64_t size_ = 0;
};

}  // namespace sonde::adapt::device

#endif  // SONDE_ADAPT_DEVICE_DEVICE_FILE_H_
