#include "precision/compare/statistics.h"

#include <cmath>

namespace sonde::precision {
namespace {

enum class Class : uint8_t { kNan, kInf, kNegInf, kNumber, kDevice, kNotAvailable, kOther };

bool IsDevice(std::string_view text) {
  return text.find("npu") != std::string_view::npos || text.find("cpu") != std::string_view::npos ||
         text.find("cuda") != std::string_view::npos;
}

Class ClassOf(const Value& value) {
  if (value.IsNan()) return Class::kNan;
  if (value.IsInfinite()) return value.AsDouble() > 0 ? Class::kInf : Class::kNegInf;
  if (value.IsNumber()) return Class::kNumber;
  if (value.kind() == Value::Kind::kText) {
    if (IsDevice(value.text())) return Class::kDevice;
    if (value.text() == "N/A") return Class::kNotAvailable;
  }
  return Class::kOther;
}

StatisticDifference Both(Cell::Kind kind) { return {Cell::Of(kind), Cell::Of(kind)}; }

StatisticDifference OfNumbers(double target, double golden) {
  const double difference = target - golden;
  if (golden == 0) return {Cell::Number(difference), Cell::Of(Cell::Kind::kInf)};
  return {Cell::Number(difference), Cell::Percent(std::fabs(difference / golden * 100))};
}

}  // namespace

StatisticDifference CompareStatistic(const Value& target, const Value& golden) {
  if (SameText(target, golden)) return Both(Cell::Kind::kSame);
  const Class t = ClassOf(target);
  const Class g = ClassOf(golden);
  if (t == Class::kNumber && g == Class::kNumber) {
    return OfNumbers(target.AsDouble(), golden.AsDouble());
  }
  if (t == Class::kNan || g == Class::kNan) return Both(Cell::Kind::kNan);
  if (t == Class::kInf) return Both(Cell::Kind::kInf);
  if (t == Class::kNegInf) return Both(Cell::Kind::kNegInf);
  if (t == Class::kNumber && g == Class::kInf) return Both(Cell::Kind::kNegInf);
  if (t == Class::kNumber && g == Class::kNegInf) return Both(Cell::Kind::kInf);
  if (t == Class::kDevice && g == Class::kDevice) return Both(Cell::Kind::kNotAvailable);
  if (t == Class::kNotAvailable || g == Class::kNotAvailable) {
    return Both(Cell::Kind::kNotAvailable);
  }
  return Both(Cell::Kind::kDiffer);
}

std::array<Cell, kMaxCells> CompareStatistics(const DumpRow& target, const DumpRow* golden) {
  std::array<Cell, kMaxCells> cells;
  if (golden == nullptr) return cells;
  for (size_t i = 0; i < kStatisticCount; ++i) {
    const StatisticDifference found = CompareStatistic(target.stats[i], golden->stats[i]);
    cells[i] = found.difference;
    cells[i + kStatisticCount] = found.relative_error;
  }
  return cells;
}

}  // namespace sonde::precision
