// Values of arguments that a dialect captures (Dialect::captured_keys), of all sets of one reader:
// a word with the keys that have one, then the values.
//
// Most are small counts and ids: a set without a value beyond 32 bits takes a word each, any other
// two. One thread adds; any may read.
#pragma once

#include <cstdint>
#include <span>

#include "importers/trace_events/captured_set.h"
#include "importers/trace_events/event_blocks.h"

namespace sonde::importers::trace_events {

class CapturedArguments {
 public:
  explicit CapturedArguments(BlockArena* arena) : words_(arena) {}

  // `values` by key, of which those in `mask` count. The index that At() takes.
  int32_t Add(uint32_t mask, std::span<const int64_t> values);
  CapturedSet At(int32_t index) const {
    return index < 0 ? CapturedSet() : CapturedSet(words_.At(index));
  }

 private:
  WordBlocks words_;
};

}  // namespace sonde::importers::trace_events
