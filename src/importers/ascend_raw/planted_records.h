// Raw records as the profiler writes them, made for tests: heads of the host's, the device's log.
// Times count as the files do. For tests; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::importers::planted {

// A record, number by number.
class Record {
 public:
  template <class... T>
  explicit Record(T... numbers) {
    (Put(numbers), ...);
  }
  template <class T>
  void Put(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  // With zeros up to a size.
  std::string Of(size_t size) const {
    std::string bytes = bytes_;
    bytes.resize(size, '\0');
    return bytes;
  }

 private:
  std::string bytes_;
};

inline constexpr uint16_t kMark = 0x5A5A;
inline constexpr uint16_t kStars = 0x6BD3;
inline constexpr uint32_t kThread = 11;

inline std::string HostRecord(uint16_t level, uint32_t type, uint64_t time, const std::string& data,
                              size_t size) {
  Record head(kMark, level, type, kThread, static_cast<uint32_t>(data.size()), time);
  std::string bytes = head.Of(24) + data;
  bytes.resize(size, '\0');
  return bytes;
}
inline std::string Compact(uint16_t level, uint64_t time, const std::string& data) {
  return HostRecord(level, 0, time, data, 64);
}
inline std::string Additional(uint16_t level, uint64_t time, const std::string& data,
                              uint32_t type = 0) {
  return HostRecord(level, type, time, data, 256);
}

inline std::string Api(uint16_t level, uint32_t type, uint64_t begin, uint64_t end, uint64_t item) {
  return Record(kMark, level, type, kThread, uint32_t{0}, begin, end, item).Of(40);
}

// The chip of a folder, the form of its samples, and the events of its counters.
struct Setting {
  int chip = 5;
  std::string_view version = "1.0";
  bool is_sampled = false;  // counters of cores, not of tasks
  bool is_v6() const { return chip == 15; }
  bool is_hwts() const { return chip < 5; }
};

// Begin (0) or end (1) of the task in the device's own log.
inline std::string Log(const Setting& setting, uint16_t function, uint64_t time) {
  if (setting.is_hwts()) {
    return Record(static_cast<uint8_t>(function), uint8_t{0}, uint32_t{0}, uint16_t{3}, time,
                  uint32_t{7})
        .Of(64);
  }
  if (setting.is_v6()) return Record(function, kStars, uint32_t{3}, time).Of(32);
  return Record(function, kStars, uint16_t{7}, uint16_t{3}, time).Of(64);
}

// 64 bits each, counted up.
inline std::string Numbers(size_t count, uint64_t first) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += Record(first + i).Of(8);
  return bytes;
}

}  // namespace sonde::importers::planted
