// The texts that raw records of the host name by numbers.
//
// Two dictionaries of lines: "<hash>:<text>" and "<level>_<type>:<text>". Numbers that are in
// neither are their own text, and counted. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "importers/rows/trace_rows.h"

namespace sonde::importers::raw {

// Levels of the host's records.
enum Level : uint16_t {
  kLevelRuntime = 5000,
  kLevelCommunication = 5500,
  kLevelAiCpu = 6000,
  kLevelNode = 10000,
  kLevelModel = 15000,
  kLevelAcl = 20000,
};

class Dictionary {
 public:
  explicit Dictionary(TraceRows& rows) : rows_(rows) {}

  void AddHashes(std::string_view text, std::string_view file);
  void AddTypes(std::string_view text, std::string_view file);

  // Numbers of the name pool; store::kNone for hash 0.
  int32_t Text(uint64_t hash);
  int32_t Type(uint16_t level, uint32_t type);
  std::string_view View(int32_t name) const {
    return name == store::kNone ? std::string_view() : rows_.names.Text(name);
  }

  // The number that the collector gives a text.
  static uint64_t HashOf(std::string_view text);

 private:
  TraceRows& rows_;
  std::unordered_map<uint64_t, int32_t> texts_;
  std::map<std::pair<uint16_t, uint32_t>, int32_t> types_;
};

}  // namespace sonde::importers::raw
