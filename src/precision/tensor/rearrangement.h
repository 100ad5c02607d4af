// Names the order in which a tensor has the numbers of another one: what converters get wrong.
//
// Both are read once, in order. Equal means equal as numbers: a tensor of a finer type that holds
// the same numbers counts. Threads: pure.
#pragma once

#include <string>

#include "precision/tensor/tensor.h"

namespace sonde::precision {

// "transposed", "rows in reverse order", "pairs of rows where golden has halves, in groups
// of 8", "6 of its 8 rows stand elsewhere", "in another order". Empty: the numbers are others, or
// equal and in the same order, or complex.
std::string RearrangementText(const Tensor& target, const Tensor& golden);

}  // namespace sonde::precision
