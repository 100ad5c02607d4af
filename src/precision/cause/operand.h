// One tensor of a dump as the search for the first difference sees it: its size, its four
// statistics as numbers, its type's rounding; and how far two of them lie apart.
//
// Statistics give a lower bound of a difference e of two tensors of n elements, of its
// length |e| (2-norm):
//   |e| >= max(|d Norm|, |d Max|, |d Min|, sqrt(n) |d Mean|)
// since each statistic changes by at most that much. Where tensors were compared, |e| is known
// (EucDist). Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "precision/compare/comparison.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

struct Operand {
  bool is_tensor = false;
  bool is_floating = false;
  bool has_numbers = false;  // all four statistics are numbers, perhaps not finite
  bool is_finite = false;    // and finite
  bool has_nan = false;      // Max or Min is NaN
  bool has_infinity = false;
  double elements = 0;
  double last_axis = 1;
  double norm = 0;
  double mean = 0;
  double max_abs = 0;
  double unit = 0;  // unit roundoff of the type, 0 for whole numbers
  double tiny = 0;  // what underflow takes from one element
};

Operand OperandOf(const DumpRow& row);

// 2^-24 for torch.float32 and its equivalents in the other frameworks; 0 for other types.
double UnitRoundoff(std::string_view dtype);

// The smallest number of the type that devices keep: float16 and the eight-bit types have their
// subnormal numbers everywhere, of the wider ones some devices make zeros. 0 for what is not
// floating.
double SmallestKept(std::string_view dtype);

enum class Gap : uint8_t {
  kNone,        // equal to the last digit, type and shape included
  kNumbers,     // numbers differ by `length`
  kNotFinite,   // NaN or an infinity on one side only, or of another sign
  kDtype,       // element types differ
  kShape,       // shapes differ
  kValue,       // a scalar, a text or another kind of value
  kChecksum,    // checksums differ, and nothing else is known
  kUnreadable,  // tensors could not be compared, and there are no statistics
};

struct Difference {
  Gap gap = Gap::kNone;
  double length = 0;  // kNumbers: |e| or its lower bound
  bool is_lower_bound = false;
};

// `compared` may be null: the row of these two in the comparison, for the metrics of tensors.
Difference Measure(const DumpRow& target, const DumpRow& golden, const ComparedRow* compared,
                   Mode mode);

// Whether both rows have checksums, and these differ.
bool ChecksumsDiffer(const DumpRow& target, const DumpRow& golden);

// How the four statistics alone compare.
Gap MeasureStatisticsOnly(const DumpRow& target, const DumpRow& golden);

// A number that stands for the statistics of a tensor, to find where else the same values appear; 0
// where there are none.
uint64_t ValueKey(const DumpRow& row, Mode mode);

}  // namespace sonde::precision
