#include "precision/kernels/value_points.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/strings.h"

namespace sonde::precision {
namespace {

constexpr int kSameProducer = 4;
constexpr int kSameConsumer = 3;
constexpr int kSameOperator = 2;
constexpr int kInsideProducer = 2;
constexpr int kUnknownProducer = 1;
constexpr int kSameShape = 1;

enum class ShapeFit : uint8_t { kNone, kMerged, kExact };

ShapeFit FitOf(const RunValue& a, const RunValue& b) {
  ShapeFit best = ShapeFit::kNone;
  for (const auto& x : a.shapes) {
    for (const auto& y : b.shapes) {
      if (x == y) return ShapeFit::kExact;
      if (IsMergedShape(x, y)) best = ShapeFit::kMerged;
    }
  }
  return best;
}

bool HaveCommon(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const auto& text) { return b.contains(text); });
}

// Has the values of another one, in another form: which of them a run has depends on the compiler.
bool IsLayout(const std::string& op) {
  constexpr auto kLayouts = std::to_array<std::string_view>(
      {"cast", "chunk", "contiguous", "expand", "expanddims", "flatten", "permute", "reshape",
       "split", "squeeze", "swapaxes", "swapdims", "to", "transpose", "type", "unsqueeze", "view"});
  return std::ranges::find(kLayouts, op) != kLayouts.end();
}

bool HaveCommonOperator(const RunValue& a, const RunValue& b) {
  return std::any_of(a.operators.begin(), a.operators.end(), [&b](const std::string& op) {
    return !IsLayout(op) && b.operators.contains(op);
  });
}

// Functions outside of cells, and dumps without them, have no producers.
bool MayShareProducer(const RunValue& a, const RunValue& b) {
  return a.producers.empty() || b.producers.empty() || HaveCommon(a.producers, b.producers);
}

bool LiesInside(const std::set<std::string>& inner, const std::set<std::string>& outer) {
  return std::any_of(inner.begin(), inner.end(), [&outer](const std::string& path) {
    return std::any_of(outer.begin(), outer.end(), [&path](const std::string& above) {
      return path.starts_with(base::Concat(above, "."));
    });
  });
}

// What one run computes the other does, too; but indexing is no call of a dump.
bool AreComputedAlike(const RunValue& of_dump, const RunValue& of_kernels) {
  if (of_dump.is_computed == of_kernels.is_computed) return true;
  return of_kernels.is_computed && HaveCommon(of_dump.consumers, of_kernels.consumers);
}

}  // namespace

bool IsMergedShape(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto& few = a.size() < b.size() ? a : b;
  const auto& many = a.size() < b.size() ? b : a;
  if (few.size() == many.size()) return few == many;
  size_t at = 0;
  for (const int64_t length : few) {
    int64_t product = 1;
    while (at < many.size() && product < length) product *= many[at++];
    if (product != length) return false;
  }
  return std::all_of(many.begin() + static_cast<ptrdiff_t>(at), many.end(),
                     [](int64_t length) { return length == 1; });
}

bool ShareCell(const RunValue& of_dump, const RunValue& of_kernels) {
  return HaveCommon(of_dump.producers, of_kernels.producers) ||
         HaveCommon(of_dump.consumers, of_kernels.consumers) ||
         LiesInside(of_kernels.producers, of_dump.results_of);
}

void FindKnownOperators(const std::vector<RunValue>& kernels, std::vector<RunValue>* dump) {
  for (RunValue& value : *dump) {
    value.has_known_operator =
        std::any_of(kernels.begin(), kernels.end(), [&value](const RunValue& other) {
          return other.elements == value.elements && other.family == value.family &&
                 MayShareProducer(value, other) && HaveCommonOperator(value, other);
        });
  }
}

int PointsOf(const RunValue& of_dump, const RunValue& of_kernels) {
  if (of_dump.elements != of_kernels.elements || of_dump.family != of_kernels.family) return 0;
  if (!AreComputedAlike(of_dump, of_kernels)) return 0;
  // Other weights, whatever they have in common.
  if (!of_dump.parameters.empty() && !of_kernels.parameters.empty() &&
      !HaveCommon(of_dump.parameters, of_kernels.parameters)) {
    return 0;
  }
  if (of_dump.has_known_operator && !HaveCommonOperator(of_dump, of_kernels)) return 0;
  const ShapeFit fit = FitOf(of_dump, of_kernels);
  if (fit == ShapeFit::kNone) return 0;
  int points = fit == ShapeFit::kExact ? kSameShape : 0;
  if (HaveCommon(of_dump.producers, of_kernels.producers)) {
    points += kSameProducer;
  } else if (LiesInside(of_kernels.producers, of_dump.results_of)) {
    points += kInsideProducer;
  } else if (of_kernels.of_unknown_cell) {
    points += kUnknownProducer;
  }
  if (HaveCommon(of_dump.consumers, of_kernels.consumers)) points += kSameConsumer;
  if (HaveCommon(of_dump.operators, of_kernels.operators)) points += kSameOperator;
  return points;
}

}  // namespace sonde::precision
