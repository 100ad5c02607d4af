// Where NaN or an infinity begins: the rule of the overflow check. Overflow levels of graphs
// are the reference's.
//
// The task nan_watch asks the same while a program runs
// (python/sonde/torch/precision/_nan_watch.py): the first call whose results hold NaN, and which of
// its inputs held it before. A mask is no overflow: smallest elements of -inf that come in, or that
// a call makes which only fills and selects. Pure, any thread.
#pragma once

#include "precision/dump/dump_file.h"

namespace sonde::precision {

enum class NotFinite : uint8_t {
  kNone,
  kBegins,    // in a result of this call, whose inputs are finite but for a mask
  kInWeight,  // a weight of this call holds it
  kBefore,    // in results, and in what came in
};

struct NotFinitePlace {
  NotFinite state = NotFinite::kNone;
  const DumpRow* row = nullptr;  // the first such value; null: none
};

NotFinitePlace NotFiniteOf(const DumpFile& dump, const DumpApi& api);

}  // namespace sonde::precision
