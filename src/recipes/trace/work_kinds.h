// What the modes of msprof-analyze take for computing, for copies and for operations between two
// ranks: by the vendor's cores, types and names, so that their tables are its own. Analyses of our
// own ask recipes/meaning. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

// Whether tasks of this kind compute: kernels, but not those that communicate.
inline bool IsComputing(const TraceData& data, const store::TaskKindRow& kind) {
  return kind.core != store::kNone && data.Name(kind.core) != "COMMUNICATION";
}

// Whether tasks of this kind are copies of memory.
inline bool IsCopy(const TraceData& data, const store::TaskKindRow& kind) {
  return data.Name(kind.task_type) == "MEMCPY_ASYNC" || data.Name(kind.name).starts_with("Memcpy ");
}

// Names of operations between two ranks, as modes distinguish them from collectives.
inline bool IsSendOrReceive(std::string_view name) {
  return name.find("send") != std::string_view::npos ||
         name.find("receive") != std::string_view::npos;
}

// "hcom_allReduce_": of the name where that is the vendor's, else of the kind.
inline std::string NamedCommunicationType(const CommunicationView& shown) {
  const size_t end = shown.name.find("__");
  if (end == std::string::npos || !shown.name.starts_with("hcom_")) return shown.type;
  return shown.name.substr(0, end + 1);
}

}  // namespace sonde::recipes
