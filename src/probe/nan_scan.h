// Whether a tensor holds NaN: one pass that ends with the first piece that does.
//
// Integers, bool and formats of one byte hold none. Threads: pure functions. Errors: none.
#pragma once

#include "probe/tensor_view.h"

namespace sonde::probe {

bool HasNan(const TensorView& view);

}  // namespace sonde::probe
