// Which rows of a result sheet are filled with a colour, by the rules of the older reference.
//
//   red     target max or min NaN or infinite; |Max diff| or MaxAbsErr above 1e10;
//           statistics: an output's MaxRelativeErr above 0.5; tensors: share of r < 0.001 above 0.9
//           in an input and below 0.6 in the output
//   yellow  Max diff of an input and the output both above 1, the output's ten times as large;
//           statistics: an output's MaxRelativeErr above 0.1 where an input's is below 0.01;
//           tensors: that share, or the cosine, falls by more than 0.1; requires_grad differs
//
// Pure, any thread.
#pragma once

#include <vector>

#include "precision/compare/comparison.h"
#include "report/row_source.h"

namespace sonde::precision {

// One a row of the comparison.
std::vector<report::RowColour> ColourRows(const Comparison& comparison);

}  // namespace sonde::precision
