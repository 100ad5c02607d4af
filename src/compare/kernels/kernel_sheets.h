// Kernels by type and shapes of their inputs (sheet KernelCompare), or by type and core
// (KernelTypeCompare).
//
// Units: microseconds. Pure, any thread.
#pragma once

#include "compare/frame/sheet.h"
#include "compare/frame/side.h"

namespace sonde::compare {

// No rows where a side has no kernels.
Sheet KernelSheet(const Side& base, const Side& comparison);
Sheet KernelTypeSheet(const Side& base, const Side& comparison);

}  // namespace sonde::compare
