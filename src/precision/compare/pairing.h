// Which golden row belongs to which target row.
//
// Default: equal full names; the call number of backward entries is first replaced by their own
// order among the entries of that operator, because recomputation changes the numbers. Names that
// occur several times are paired in order. A pair whose dtypes do not fit is dissolved, unless the
// caller states that the user mapped the names.
// Fuzzy: names without call number, aligned in order as the reference's two queues do, but in
// linear time.
// Threads: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "precision/dump/dump_file.h"

namespace sonde::precision {

inline constexpr int32_t kNoPartner = -1;

struct Pairing {
  std::vector<int32_t> golden_of;    // for every target row: golden row or kNoPartner
  std::vector<int32_t> golden_only;  // golden rows that nobody took, in order
};

struct PairingOptions {
  bool fuzzy = false;
  bool renumber_backward = true;
  bool dtype_gate = true;
  bool cross_framework = false;
  // The golden key that a target key asks for; an empty text matches nothing. No function: its own.
  std::function<std::string(std::string_view key)> map_key = {};
};

Pairing PairRows(const DumpFile& target, const DumpFile& golden, const PairingOptions& options);

// Whether rows of these dtypes may be compared at all.
bool DtypesFit(std::string_view target, std::string_view golden, bool cross_framework);

// Aligns two sequences of keys as `-fm` does: for every target key the golden position or
// kNoPartner. Exported for graphs and tests.
std::vector<int32_t> AlignKeys(const std::vector<std::string_view>& target,
                               const std::vector<std::string_view>& golden);

// A name without its call number: "Torch.mm.3.forward.input.0" -> "Torch.mm.forward.input.0",
// "Module.a.Linear.forward.0.input.0" -> "Module.a.Linear.forward.input.0". Names of neither form
// stay. `number` (may be null) receives the number's text.
std::string WithoutCallNumber(std::string_view name, std::string_view* number = nullptr);

}  // namespace sonde::precision
