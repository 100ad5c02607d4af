// Needs of a part of a table: its rows are read as those of the table. Pure, any thread.
#pragma once

#include "recipes/trace/needs.h"
#include "store/core_frequency.h"

namespace sonde::recipes {

// The counters of the cores' frequency; others may be there.
constexpr Needs ReadsCoreFrequency() {
  Needs needs = Reads<>();
  needs.tables |= store::kCoreFrequency;
  return needs;
}

template <class Row>
constexpr bool HasAnyOf(const Needs& needs) {
  return (needs.tables & store::kAnyOf<Row>) != 0;
}

}  // namespace sonde::recipes
