// Where the values that a call gets come from: which earlier call of the same run gave them, and
// which module's parameter they are.
//
// Values are recognised by their statistics (or checksum): views, transposes and reshapes of an
// output keep them. Made when first asked, since most walks never ask.
// Threads: one walk's own.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "precision/cause/alignment.h"
#include "precision/compare/comparison.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

class Origins {
 public:
  Origins(const DumpFile& dump, Mode mode) : dump_(dump), mode_(mode) {}

  // The last call before `call` that gave `row`'s values; kNoCall: none did.
  int32_t Producer(const DumpRow& row, int32_t call);
  // The module call whose parameter has these values; null: none.
  const DumpRow* ParameterOf(const DumpRow& row);
  // The unit roundoff of a coarser type that has a value of the same size, largest and smallest
  // element: what a cast that no call records was made from. 0: none.
  double UnitOfCast(const DumpRow& row);
  // Index into apis(); kNoCall: unknown.
  int32_t Find(std::string_view api);

 private:
  void IndexValues();
  void IndexNames();
  void IndexCoarse();

  const DumpFile& dump_;
  const Mode mode_;
  bool has_values_ = false;
  bool has_coarse_ = false;
  std::unordered_map<uint64_t, double> coarse_;  // unit of values of coarse types
  std::unordered_map<uint64_t, std::vector<int32_t>> producers_;
  std::unordered_map<uint64_t, const DumpRow*> parameters_;
  std::unordered_map<std::string_view, int32_t, base::StringHash> names_;
};

}  // namespace sonde::precision
