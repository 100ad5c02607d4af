#include "precision/cause/operand.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/strings.h"
#include "precision/compare/rules.h"

namespace sonde::precision {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A statistic as a number; texts of both generations ("nan", "inf") included. False: no number.
bool NumberOf(const Value& value, double* out) {
  if (value.IsNumber()) {
    *out = value.AsDouble();
    return true;
  }
  if (value.kind() == Value::Kind::kBool) {
    *out = value.PythonText() == "True" ? 1 : 0;
    return true;
  }
  if (value.kind() != Value::Kind::kText) return false;
  const std::string_view text = value.text();
  if (text == "nan" || text == "Nan" || text == "NaN")
    *out = kNan;
  else if (text == "inf" || text == "Infinity")
    *out = kInfinity;
  else if (text == "-inf" || text == "-Infinity")
    *out = -kInfinity;
  else
    return false;
  return true;
}

// "[2, 3]", "(2, 3)": one pass, since every row of a dump comes by here. An axis that is no whole
// number (a dynamic shape's "?") counts as one.
void ReadShape(std::string_view shape, Operand* out) {
  out->elements = 1;
  double axis = 0;
  bool is_number = false;
  bool is_other = false;
  const auto end_axis = [&] {
    if (is_number && !is_other) {
      out->last_axis = axis;
      out->elements *= axis;
    }
    axis = 0;
    is_number = is_other = false;
  };
  for (const char c : shape) {
    if (c >= '0' && c <= '9') {
      axis = axis * 10 + (c - '0');
      is_number = true;
    } else if (c == ',') {
      end_axis();
    } else if (c != ' ' && c != '[' && c != ']' && c != '(' && c != ')') {
      is_other = true;
    }
  }
  end_axis();
}

bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool IsDeviceText(std::string_view text) {
  for (const std::string_view device : {"cuda", "npu", "cpu", "xpu", "mps", "meta"}) {
    if (text.starts_with(device)) return true;
  }
  return false;
}

// Arguments: their device makes no difference to the results.
Difference MeasureValues(const DumpRow& target, const DumpRow& golden) {
  const Value& a = target.stats[kMax];
  const Value& b = golden.stats[kMax];
  if (SameText(a, b)) return {target.kind == golden.kind ? Gap::kNone : Gap::kValue};
  double x = 0;
  double y = 0;
  if (NumberOf(a, &x) && NumberOf(b, &y)) {
    if (SameNumber(x, y)) return {};
    const bool floating = a.kind() == Value::Kind::kFloat && b.kind() == Value::Kind::kFloat;
    if (!floating) return {Gap::kValue};
    if (!std::isfinite(x) || !std::isfinite(y)) return {Gap::kNotFinite};
    return {Gap::kNumbers, std::fabs(x - y), false};
  }
  if (a.kind() == Value::Kind::kText && b.kind() == Value::Kind::kText && IsDeviceText(a.text()) &&
      IsDeviceText(b.text())) {
    return {};
  }
  return {Gap::kValue};
}

double ElementsOf(const DumpRow& row) {
  Operand out;
  ReadShape(row.shape, &out);
  return out.elements;
}

Difference MeasureStatistics(const DumpRow& target, const DumpRow& golden) {
  Difference out;
  bool known = false;
  double elements = -1;  // looked at where something differs
  for (size_t i = 0; i < kStatisticCount; ++i) {
    double a = 0;
    double b = 0;
    const bool has_a = NumberOf(target.stats[i], &a);
    if (has_a != NumberOf(golden.stats[i], &b)) return {Gap::kUnreadable};
    if (!has_a) continue;
    known = true;
    if (SameNumber(a, b)) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return {Gap::kNotFinite};
    if (elements < 0) elements = ElementsOf(target);
    double apart = std::fabs(a - b);
    if (i == kMean) apart *= std::sqrt(elements);
    out.gap = Gap::kNumbers;
    out.is_lower_bound = elements > 1;
    out.length = std::max(out.length, apart);
  }
  // Without any number on either side nothing has been compared; an empty tensor has none to begin
  // with.
  return known || ElementsOf(target) == 0 ? out : Difference{Gap::kUnreadable};
}

bool IsZero(const DumpRow& row) {
  double high = 1;
  double low = 1;
  return row.kind == LeafKind::kTensor && NumberOf(row.stats[kMax], &high) &&
         NumberOf(row.stats[kMin], &low) && high == 0 && low == 0;
}

bool Present(std::string_view md5) { return !md5.empty() && md5 != "N/A" && md5 != "Nan"; }

// The distance of two tensors that were compared element by element; false: there is none.
bool DistanceOf(const ComparedRow& row, Difference* out) {
  const Cell& distance = row.cells[kEucDist];
  if (distance.kind == Cell::Kind::kSame) return true;
  if (distance.kind != Cell::Kind::kNumber || !std::isfinite(distance.value)) return false;
  // Equal to the last digit of twelve is not yet equal: the largest difference decides.
  const double largest =
      row.cells[kMaxAbsErr].kind == Cell::Kind::kNumber ? row.cells[kMaxAbsErr].value : 0;
  out->length = std::max(distance.value, largest);
  if (out->length > 0) out->gap = Gap::kNumbers;
  return true;
}

}  // namespace

double UnitRoundoff(std::string_view dtype) {
  struct Known {
    std::string_view name;
    double unit;
  };
  // The common case of nearly every row, without a look at its letters.
  static constexpr std::array<Known, 5> kUsual = {{{"torch.float32", 0x1p-24},
                                                   {"torch.bfloat16", 0x1p-8},
                                                   {"torch.float16", 0x1p-11},
                                                   {"torch.int64", 0},
                                                   {"torch.bool", 0}}};
  for (const Known& usual : kUsual) {
    if (dtype == usual.name) return usual.unit;
  }
  const std::string text = base::ToLower(dtype);
  const auto holds = [&text](std::string_view word) {
    return text.find(word) != std::string::npos;
  };
  if (holds("float8_e4m3") || holds("e4m3")) return 0x1p-4;
  if (holds("float8_e5m2") || holds("e5m2")) return 0x1p-3;
  if (holds("bfloat16")) return 0x1p-8;
  if (holds("float16") || holds("complex32") || holds("half")) return 0x1p-11;
  if (holds("float64") || holds("complex128") || holds("double")) return 0x1p-53;
  if (holds("float") || holds("complex64")) return 0x1p-24;
  return 0;
}

double SmallestKept(std::string_view dtype) {
  const double unit = UnitRoundoff(dtype);
  if (unit == 0x1p-4) return 0x1p-9;    // e4m3
  if (unit == 0x1p-3) return 0x1p-16;   // e5m2
  if (unit == 0x1p-11) return 0x1p-24;  // float16
  if (unit == 0x1p-53) return 0x1p-1022;
  return unit > 0 ? 0x1p-126 : 0;
}

Operand OperandOf(const DumpRow& row) {
  Operand out;
  out.is_tensor = row.kind == LeafKind::kTensor;
  if (!out.is_tensor) return out;
  ReadShape(row.shape, &out);
  out.unit = UnitRoundoff(row.dtype);
  out.tiny = SmallestKept(row.dtype);
  out.is_floating = out.unit > 0;
  double values[kStatisticCount] = {};
  out.has_numbers = true;
  for (size_t i = 0; i < kStatisticCount; ++i) {
    out.has_numbers = NumberOf(row.stats[i], &values[i]) && out.has_numbers;
  }
  out.has_nan = std::isnan(values[kMax]) || std::isnan(values[kMin]);
  out.has_infinity = std::isinf(values[kMax]) || std::isinf(values[kMin]);
  out.is_finite = out.has_numbers && !out.has_nan && !out.has_infinity;
  // Of a tensor with an infinity (a mask) only the finite end shows how large its numbers are.
  const double high = std::isfinite(values[kMax]) ? std::fabs(values[kMax]) : 0;
  const double low = std::isfinite(values[kMin]) ? std::fabs(values[kMin]) : 0;
  out.max_abs = std::max(high, low);
  out.norm = std::isfinite(values[kNorm]) ? values[kNorm] : out.max_abs * std::sqrt(out.elements);
  out.mean = std::isfinite(values[kMean]) ? values[kMean] : 0;
  return out;
}

Difference Measure(const DumpRow& target, const DumpRow& golden, const ComparedRow* compared,
                   Mode mode) {
  if (target.kind != LeafKind::kTensor || golden.kind != LeafKind::kTensor) {
    // Without a gradient: nothing here, zeros in dumps of the reference.
    if ((target.kind == LeafKind::kNone && IsZero(golden)) ||
        (golden.kind == LeafKind::kNone && IsZero(target))) {
      return {};
    }
    return target.kind == LeafKind::kTensor || golden.kind == LeafKind::kTensor
               ? Difference{Gap::kValue}
               : MeasureValues(target, golden);
  }
  if (target.shape != golden.shape) return {Gap::kShape};
  if (target.dtype != golden.dtype && (UnitRoundoff(target.dtype) != UnitRoundoff(golden.dtype) ||
                                       DtypeFamily(target.dtype) != DtypeFamily(golden.dtype))) {
    return {Gap::kDtype};
  }
  if (Present(target.md5) && Present(golden.md5)) {
    if (target.md5 == golden.md5) return {};
    const Difference more = MeasureStatistics(target, golden);
    // Other elements with the same statistics: apart, by about the resolution of these.
    const Operand operand = OperandOf(golden);
    if (more.gap == Gap::kNone && operand.is_floating) {
      return {Gap::kNumbers, operand.unit * operand.norm, true};
    }
    return more.gap == Gap::kNone         ? Difference{Gap::kChecksum}
           : more.gap == Gap::kUnreadable ? Difference{Gap::kChecksum}
                                          : more;
  }
  Difference out;
  if (mode == Mode::kTensor && compared != nullptr && compared->golden == &golden &&
      DistanceOf(*compared, &out)) {
    return out;
  }
  return MeasureStatistics(target, golden);
}

bool ChecksumsDiffer(const DumpRow& target, const DumpRow& golden) {
  return Present(target.md5) && Present(golden.md5) && target.md5 != golden.md5;
}

Gap MeasureStatisticsOnly(const DumpRow& target, const DumpRow& golden) {
  return MeasureStatistics(target, golden).gap;
}

uint64_t ValueKey(const DumpRow& row, Mode mode) {
  if (row.kind != LeafKind::kTensor) return 0;
  if (mode == Mode::kMd5) return Present(row.md5) ? base::HashString(row.md5) : 0;
  uint64_t key = base::internal::kHashA;
  bool any = false;
  for (size_t i = 0; i < kStatisticCount; ++i) {
    double value = 0;
    if (!NumberOf(row.stats[i], &value)) continue;
    // One value for each zero: their signs are no trace of where they come from.
    if (value == 0) value = 0;
    any = any || value != 0;
    key = base::HashCombine(key, std::bit_cast<uint64_t>(value));
  }
  // Zeros come from everywhere.
  return any ? key : 0;
}

}  // namespace sonde::precision
