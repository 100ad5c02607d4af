#include "precision/checkpoint/weight_words.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/cause/evidence.h"
#include "precision/tensor/rearrangement.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Sums of squares in double precision are this exact, whatever the size.
constexpr double kExact = 1e-10;
// Elements or rows that are listed one by one.
constexpr uint64_t kFew = 8;

bool IsFinite(const WeightNumbers& numbers) { return numbers.nan == 0 && numbers.infinite == 0; }

std::string NotFinite(const WeightNumbers& numbers, std::string_view side) {
  const std::string nan = numbers.nan > 0 ? Concat(std::to_string(numbers.nan), " NaN") : "";
  const std::string infinite =
      numbers.infinite > 0 ? base::CountOf(numbers.infinite, "infinity", "infinities") : "";
  return Concat(nan, !nan.empty() && !infinite.empty() ? " and " : "", infinite, " in ", side);
}

// Where the differing elements are, if that is informative.
std::string PlaceText(const Tensor& tensor, const WeightDifference& difference) {
  const auto elements = static_cast<uint64_t>(tensor.element_count());
  std::string out =
      Concat(std::to_string(difference.different), " of ", base::CountOf(elements, "element"));
  if (tensor.shape().size() < 2 || elements == 0 || tensor.shape()[0] == 0) return out;
  const int64_t width = tensor.element_count() / tensor.shape()[0];
  const int64_t first = difference.first / width;
  const int64_t last = difference.last / width;
  const int64_t rows = tensor.shape()[0];
  if (first == last)
    return Concat(out, ", in row ", std::to_string(first), " of ", std::to_string(rows));
  if (last - first + 1 < rows) {
    return Concat(out, ", in rows ", std::to_string(first), " to ", std::to_string(last), " of ",
                  std::to_string(rows));
  }
  return out;
}

// The factor by which all elements differ; none where there is no such.
std::optional<double> FactorOf(const WeightDifference& difference) {
  const double golden = difference.golden.squares;
  if (golden == 0) return std::nullopt;
  const double factor = difference.dot / golden;
  const double left = difference.target.squares - factor * difference.dot;
  const bool exact = std::fabs(left) <= kExact * difference.target.squares;
  // A difference that the rounding of the type explains is no factor.
  if (!exact || std::fabs(factor - 1) < 1e-5) return std::nullopt;
  return factor;
}

std::optional<double> ShiftOf(const WeightDifference& difference, double elements) {
  const double sum = difference.target.sum - difference.golden.sum;
  if (elements < 2 || difference.squares == 0) return std::nullopt;
  const double left = difference.squares - sum * sum / elements;
  if (std::fabs(left) > 1e-6 * difference.squares) return std::nullopt;
  return sum / elements;
}

// The same numbers have the same sums, but for rounding.
bool MayBeRearranged(const WeightDifference& difference) {
  constexpr double kSumRounding = 1e-9;
  const double squares = difference.golden.squares;
  return std::fabs(difference.target.squares - squares) <= kSumRounding * squares &&
         difference.target.max == difference.golden.max &&
         difference.target.min == difference.golden.min;
}

std::string HowText(const Tensor& target, const Tensor& golden, const WeightDifference& difference,
                    double relative) {
  const WeightNumbers& ours = difference.target;
  const WeightNumbers& theirs = difference.golden;
  const std::string place = PlaceText(target, difference);
  if (!IsFinite(ours) && IsFinite(theirs)) return NotFinite(ours, "the target");
  if (!IsFinite(theirs) && IsFinite(ours)) return NotFinite(theirs, "the golden checkpoint");
  if (!IsFinite(ours)) return Concat(place, ", with NaN or infinities in both");
  if (ours.squares == 0) return "all zeros in the target";
  if (theirs.squares == 0) return "all zeros in the golden checkpoint";
  if (MayBeRearranged(difference)) {
    const std::string order = RearrangementText(target, golden);
    if (!order.empty()) return Concat("the golden checkpoint's numbers, ", order);
  }
  const auto elements = static_cast<double>(target.element_count());
  if (difference.different > kFew) {
    if (const auto factor = FactorOf(difference)) {
      return Concat(ShortNumber(*factor), " times as large as in the golden checkpoint");
    }
    if (const auto shift = ShiftOf(difference, elements)) {
      return Concat("shifted by ", ShortNumber(*shift));
    }
  }
  return Concat(place, ", by ", ShortNumber(difference.max_difference), " at most; distance ",
                ShortNumber(100 * relative), " % of its length");
}

}  // namespace

std::string_view VerdictText(WeightVerdict verdict) {
  switch (verdict) {
    case WeightVerdict::kEqual:
      return "equal";
    case WeightVerdict::kRounded:
      return "rounded";
    case WeightVerdict::kDiffers:
      return "differs";
    case WeightVerdict::kShape:
      break;
  }
  return "shape differs";
}

std::string ShapeText(const Tensor& tensor) {
  std::vector<std::string> lengths;
  for (const int64_t length : tensor.shape()) lengths.push_back(std::to_string(length));
  return Concat("[", base::Join(lengths, ", "), "]");
}

JudgedWeight JudgeWeight(const Tensor& target, const Tensor& golden,
                         const WeightDifference& difference) {
  JudgedWeight out;
  if (target.shape() != golden.shape() || IsComplex(target.dtype()) != IsComplex(golden.dtype())) {
    out.verdict = WeightVerdict::kShape;
    const std::string order = RearrangementText(target, golden);
    out.how = Concat(ShapeText(target), " ", DtypeName(target.dtype()), " against ",
                     ShapeText(golden), " ", DtypeName(golden.dtype()),
                     order.empty() ? "" : Concat(": the same numbers, ", order));
    out.relative = std::numeric_limits<double>::infinity();
    return out;
  }
  if (IsFinite(difference.target) && IsFinite(difference.golden)) {
    const double a = std::sqrt(difference.target.squares);
    const double b = std::sqrt(difference.golden.squares);
    out.l2 = std::sqrt(difference.squares);
    out.relative = b > 0 ? *out.l2 / b : (*out.l2 > 0 ? HUGE_VAL : 0);
    if (a == 0 && b == 0) out.cosine = 1;
    if (a > 0 && b > 0) out.cosine = difference.dot / (a * b);
  } else {
    out.relative = std::numeric_limits<double>::infinity();
  }
  if (difference.different == 0) {
    out.relative = 0;
    if (target.dtype() != golden.dtype()) {
      out.how = Concat("as ", DtypeName(target.dtype()), " in the target, as ",
                       DtypeName(golden.dtype()), " in the golden checkpoint");
    }
    return out;
  }
  const double larger = std::max(UnitRoundoff(target.dtype()), UnitRoundoff(golden.dtype()));
  const double finer = std::min(UnitRoundoff(target.dtype()), UnitRoundoff(golden.dtype()));
  // The larger of both may lie above a power of two, and the rounded one below it.
  if (larger != finer && finer > 0 && difference.max_units <= 1.0 + 2 * larger) {
    out.verdict = WeightVerdict::kRounded;
    const bool target_is_coarser = UnitRoundoff(target.dtype()) == larger;
    out.how =
        Concat(target_is_coarser ? "the target is" : "the golden checkpoint is", " rounded to ",
               DtypeName(target_is_coarser ? target.dtype() : golden.dtype()));
    return out;
  }
  out.verdict = WeightVerdict::kDiffers;
  out.how = HowText(target, golden, difference, out.relative);
  return out;
}

}  // namespace sonde::precision
