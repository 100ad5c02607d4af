// Calls of the host by name (sheet ApiCompare): every operator of the tree but the steps.
//
// Units: milliseconds; sums are rounded to two digits before means and ratios, as the reference
// does. Pure, any thread.
#pragma once

#include "compare/frame/sheet.h"
#include "compare/frame/side.h"

namespace sonde::compare {

// No rows where a side has no operators.
Sheet ApiSheet(const Side& base, const Side& comparison);

}  // namespace sonde::compare
