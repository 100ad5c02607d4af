// What stopped a host, as far as it is recorded: from Sonde's own scopes and from exact names,
// which stand in activities.inc. What is not there is the program's own work. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

enum class HostActivity : uint8_t {
  kUnknown,  // nothing was recorded
  kDataLoading,
  kGarbageCollection,
  kLock,
  kCompilation,
  kMemory,
  kSaving,
  kOther,  // what was recorded is none of these
};

// "data loading", "checkpoint"; "" for kUnknown.
std::string_view NameOf(HostActivity activity);

// By the name of a slice of the host alone.
HostActivity ActivityOf(std::string_view slice_name);

}  // namespace sonde::recipes
