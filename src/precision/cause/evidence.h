// Evidence of a finding from both runs, in lines for a terminal.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "precision/cause/operand.h"

namespace sonde::precision {

// "[8, 8] torch.float32  Max 0.35  Min -0.35  Mean 0.01  Norm 1.6", a checksum, or a value; "N/A"
// for null.
std::string ValueText(const DumpRow* row, Mode mode);

// How a parameter was changed, as far as statistics show: "all zeros", "1.0001 times as large".
std::string ChangeText(const DumpRow& target, const DumpRow& golden);

// How many times as large all elements are, as far as statistics show; 1: not a multiple.
double FactorBetween(const DumpRow& target, const DumpRow& golden);

// Where an infinity or NaN of an output comes from: a mask in its inputs, an argument, or the
// operation itself. `mask`: inputs of both runs hold infinities, as masks do.
std::string NotFiniteText(const DumpRow& target, const DumpRow& golden, bool mask);

// Six digits.
std::string ShortNumber(double value);

}  // namespace sonde::precision
