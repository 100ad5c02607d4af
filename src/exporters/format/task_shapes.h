// Shapes of a task in the files of Ascend's profilers, which hold those of operators of the host,
// too. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

// Whether the shapes, which may be those of a scalar (""), are known. `shapes`, `types`: of its
// inputs or outputs. An operator of the host may have one argument without a shape ("Scalar",
// "None"); types of tensors begin with a small letter.
inline bool HasShapes(const recipes::TraceData& data, const store::TaskKindRow& kind,
                      int32_t shapes, int32_t types) {
  if (shapes == store::kNone) return false;
  if (!data.Name(shapes).empty() || data.Name(kind.core) != "CPU") return true;
  const std::string_view type = types == store::kNone ? std::string_view() : data.Name(types);
  return !type.empty() && type.front() >= 'a' && type.front() <= 'z';
}

}  // namespace sonde::exporters
