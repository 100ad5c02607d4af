// Which call of one program is which of the other, where cells are mapped to modules (-cm): calls
// in a cell pair with calls in its module alone, by name and order there. By their numbers, which
// count over the whole program, one call more in one cell would shift all behind it.
//
// A module is known by its path; its class may differ. Where a dump has no construct.json (level
// L1) there are no cells, and all calls are in one place. Backward calls go with their forward
// calls. Threads: read-only after it is made.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

class CellCalls {
 public:
  // The golden name for a target name.
  using MapName = std::function<std::string(std::string_view)>;

  CellCalls(const DumpFile& target, const ConstructFile& target_tree, const DumpFile& golden,
            const ConstructFile& golden_tree, const MapName& map_name);

  // `mapped`: what the row `name` of the target is mapped to, with the target's number in it. Gives
  // it with the number of the golden call; empty: there is none.
  std::string WithGoldenNumber(std::string_view name, std::string mapped) const;

  // Calls of cells that both programs have, for which the other one has no call: "2 calls of its
  // cells are only in the target (the first: X)"; empty: none.
  std::string LoneCalls() const;

 private:
  struct Lone {
    size_t count = 0;
    std::string first;
  };
  std::unordered_map<std::string, std::string, base::StringHash, std::equal_to<>> number_of_;
  Lone target_only_;
  Lone golden_only_;
};

}  // namespace sonde::precision
