// The text dictionary of a profiler database (table STRING_IDS): numbers for texts, in ranges by
// the layer that wrote them, as readers of the ecosystem know them.
//
// A text may have a number in several ranges. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "report/sqlite_file.h"

namespace sonde::exporters {

enum class StringRange { kDevice = 0, kFramework = 1, kMemory = 2 };  // from 0, 1 << 28, 2 << 28

class StringIds {
 public:
  int64_t Id(StringRange range, std::string_view text);

  // The same for a name of the store, found by its number: no hashing for names seen before.
  int64_t NameId(StringRange range, int32_t name, std::string_view text);

  Status Write(report::SqliteFile& file) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Range {
    std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids;
    std::vector<int64_t> by_name;  // -1: not asked yet
  };
  std::array<Range, 3> ranges_;
};

}  // namespace sonde::exporters
