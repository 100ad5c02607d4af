#include "precision/compare/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/strings.h"

namespace sonde::precision {
namespace {

constexpr double kInputRelativeLimit = 0.1;
constexpr double kOutputRelativeLimit = 0.5;
constexpr double kNormGrowthFactor = 10;
constexpr double kNormGrowthFromZero = 0.1;
constexpr double kInputRatioLimit = 0.9;
constexpr double kOutputRatioLimit = 0.1;
constexpr double kInputCosineLimit = 0.9;
constexpr double kCosineDropLimit = 0.1;
constexpr int kNormRelative = kStatisticCount + kNorm;

constexpr std::array<std::string_view, 9> kExemptApis = {"empty",
                                                         "empty_like",
                                                         "numpy",
                                                         "to",
                                                         "__setitem__",
                                                         "new_empty",
                                                         "empty_with_format",
                                                         "new_empty_strided",
                                                         "empty_strided"};
constexpr std::array<std::string_view, 4> kPlaceholderInputApis = {
    "_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"};

template <size_t N>
bool Contains(const std::array<std::string_view, N>& set, std::string_view text) {
  return std::find(set.begin(), set.end(), text) != set.end();
}

std::string_view SecondPart(std::string_view name) {
  const size_t begin = name.find('.');
  if (begin == std::string_view::npos) return {};
  return name.substr(begin + 1, name.find('.', begin + 1) - begin - 1);
}

bool IsAbnormal(const Value& value) {
  if (value.IsNanOrInfinite()) return true;
  return value.kind() == Value::Kind::kText && (value.text() == "nan" || value.text() == "Nan" ||
                                                value.text() == "inf" || value.text() == "-inf");
}

// A number, or a percentage as a fraction; nothing else takes part in minima and maxima.
bool UsableNumber(const Cell& cell, double* number) {
  if (cell.kind == Cell::Kind::kNumber) {
    *number = cell.value;
    return std::isfinite(cell.value);
  }
  if (cell.kind == Cell::Kind::kPercent) {
    *number = cell.value / 100;
    return true;
  }
  return false;
}

double MaxOf(double start, double number) { return number > start ? number : start; }
double MinOf(double start, double number) { return number < start ? number : start; }

// The result of rule 3 for any text: infinite, never greater, or zero.
double MagnitudeForRelativeRule(const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::kPercent:
      return std::fabs(cell.value / 100);
    case Cell::Kind::kNumber:
      return std::fabs(cell.value);
    case Cell::Kind::kInf:
    case Cell::Kind::kNegInf:
      return std::numeric_limits<double>::infinity();
    case Cell::Kind::kNan:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return 0;
  }
}

// "[1, 217, 1, 896]" -> {"217", "896"}
std::vector<std::string_view> LongAxes(std::string_view shape) {
  std::vector<std::string_view> out;
  if (shape.starts_with('[')) shape.remove_prefix(1);
  if (shape.ends_with(']')) shape.remove_suffix(1);
  for (const std::string_view part : base::Split(shape, ',')) {
    const std::string_view axis = base::Trim(part);
    if (!axis.empty() && axis != "1") out.push_back(axis);
  }
  return out;
}

// Fused weights have shapes of their own; Megatron may keep the heads on an axis that the inference
// engine folds into the last.
bool EngineShapesDiffer(Engine engine, const DumpRow& target, const DumpRow& golden) {
  if (engine == Engine::kFsdp && (golden.name.find("qkv") != std::string_view::npos ||
                                  golden.name.find("gate_up") != std::string_view::npos)) {
    return false;
  }
  const std::vector<std::string_view> ours = LongAxes(target.shape);
  const std::vector<std::string_view> theirs = LongAxes(golden.shape);
  if (engine == Engine::kMegatron && ours.size() == 3 && theirs.size() == 2) {
    const auto heads = base::ParseInt64(ours[1]);
    const auto width = base::ParseInt64(ours[2]);
    int64_t folded = 0;
    return ours[0] != theirs[0] || !heads || !width ||
           __builtin_mul_overflow(*heads, *width, &folded) || std::to_string(folded) != theirs[1];
  }
  return ours != theirs;
}

// One API's rows with the values that all rules use.
class ApiJudge {
 public:
  ApiJudge(Mode mode, const RuleSet& rules, std::span<ComparedRow> rows)
      : mode_(mode), rules_(rules), rows_(rows) {
    for (ComparedRow& row : rows_) {
      const bool output = row.target->IsOutput();
      if (output && first_output_ == nullptr) first_output_ = &row;
      if (!output && first_input_ == nullptr) first_input_ = &row;
    }
    if (first_input_ != nullptr) {
      const std::string_view api = SecondPart(first_input_->target->name);
      exempt_ = IsExemptApi(api);
      placeholder_inputs_ = Contains(kPlaceholderInputApis, api);
    }
  }

  void Run() {
    if (exempt_) return;
    for (ComparedRow& row : rows_) {
      if (placeholder_inputs_ && !row.target->IsOutput()) continue;
      if (mode_ == Mode::kMd5) {
        JudgeChecksum(&row);
      } else {
        JudgeRow(&row);
      }
    }
    if (mode_ == Mode::kMd5 || placeholder_inputs_) return;
    if (mode_ == Mode::kStatistics) {
      JudgeNorms();
    } else {
      JudgeTensors();
    }
  }

 private:
  static bool Overflows(const DumpRow& row) {
    return IsAbnormal(row.stats[kMax]) || IsAbnormal(row.stats[kMin]);
  }

  void JudgeRow(ComparedRow* row) const {
    const DumpRow& target = *row->target;
    const DumpRow* const golden = row->golden;
    if (Overflows(target) && (golden == nullptr || !Overflows(*golden))) {
      row->Report(Message::kOverflow, Verdict::kError);
    }
    if (golden == nullptr) return;
    if (rules_.requires_grad && Differ(target.requires_grad, golden->requires_grad)) {
      row->Report(Message::kRequiresGrad, Verdict::kError);
    }
    if (!target.IsOutput() && target.dtype.find("class") != std::string_view::npos &&
        golden->dtype.find("class") != std::string_view::npos && target.shape == "[]" &&
        !SameText(target.stats[kMax], golden->stats[kMax])) {
      row->Report(Message::kScalarParameter, Verdict::kError);
    }
    if (DtypeDiffers(target, *golden)) row->Report(Message::kDtype, Verdict::kError);
    if (rules_.shape && ShapeDiffers(target, *golden)) {
      row->Report(Message::kShape, Verdict::kError);
    }
  }

  bool Differ(std::string_view target, std::string_view golden) const {
    if (rules_.only_present && (target.empty() || golden.empty())) return false;
    return target != golden;
  }

  bool ShapeDiffers(const DumpRow& target, const DumpRow& golden) const {
    if (rules_.engine != Engine::kNone) return EngineShapesDiffer(rules_.engine, target, golden);
    return Differ(target.shape, golden.shape) || KindsDiffer(target, golden);
  }

  // A tensor without axes has another shape than a number, though both are printed alike. Only
  // pairs by position can be of two kinds.
  bool KindsDiffer(const DumpRow& target, const DumpRow& golden) const {
    if (!rules_.only_present || target.shape.empty() || golden.shape.empty()) return false;
    return (target.kind == LeafKind::kTensor) != (golden.kind == LeafKind::kTensor);
  }

  bool DtypeDiffers(const DumpRow& target, const DumpRow& golden) const {
    if (!Differ(target.dtype, golden.dtype)) return false;
    if (rules_.dtype_families && DtypeFamily(target.dtype) == DtypeFamily(golden.dtype)) {
      return false;
    }
    // Fused weights of the serving side keep the dtype of their kernel.
    return golden.name.find("qkv") == std::string_view::npos &&
           golden.name.find("gate_up") == std::string_view::npos;
  }

  static void JudgeChecksum(ComparedRow* row) {
    const std::string target = ChecksumText(*row->target);
    const std::string golden = row->golden == nullptr ? "N/A" : ChecksumText(*row->golden);
    if (target == golden) return;
    const auto missing = [](std::string_view text) {
      return text.empty() || text == "N/A" || text == "Nan";
    };
    if (missing(target) || missing(golden)) {
      row->Report(Message::kChecksumUnmatched, Verdict::kWarning);
    } else {
      row->Report(Message::kChecksum, Verdict::kError);
    }
  }

  // Folds the usable numbers of one metric over the input or the output rows.
  template <class Fold>
  double Collect(int metric, bool output, double start, Fold fold) const {
    double result = start;
    for (const ComparedRow& row : rows_) {
      double number = 0;
      if (row.target->IsOutput() == output &&
          UsableNumber(row.cells[static_cast<size_t>(metric)], &number)) {
        result = fold(result, number);
      }
    }
    return result;
  }

  void JudgeNorms() {
    const double input = Collect(kNormRelative, false, 0.0, MaxOf);
    const double output = Collect(kNormRelative, true, 0.0, MaxOf);
    if (input < kInputRelativeLimit) {
      for (ComparedRow& row : rows_) {
        if (row.target->IsOutput() &&
            MagnitudeForRelativeRule(row.cells[kNormRelative]) > kOutputRelativeLimit) {
          row.Report(Message::kRelativeError, Verdict::kError);
        }
      }
    }
    const bool grows =
        input == 0 ? output > kNormGrowthFromZero : output / input > kNormGrowthFactor;
    if (grows && first_output_ != nullptr) {
      first_output_->Report(Message::kNormGrowth, Verdict::kWarning);
    }
  }

  void JudgeTensors() {
    if (first_output_ == nullptr) return;
    const double input_ratio = Collect(kOneThousandth, false, 1.0, MinOf);
    const double output_ratio = Collect(kOneThousandth, true, 1.0, MinOf);
    if (input_ratio > kInputRatioLimit && output_ratio < kOutputRatioLimit) {
      first_output_->Report(Message::kOneThousandth, Verdict::kError);
    }
    const double input_cosine = Collect(kCosine, false, 1.0, MinOf);
    const double output_cosine = Collect(kCosine, true, 1.0, MinOf);
    if (input_cosine > kInputCosineLimit && input_cosine - output_cosine > kCosineDropLimit) {
      first_output_->Report(Message::kCosineDrop, Verdict::kWarning);
    }
  }

  const Mode mode_;
  const RuleSet& rules_;
  std::span<ComparedRow> rows_;
  ComparedRow* first_input_ = nullptr;
  ComparedRow* first_output_ = nullptr;
  bool exempt_ = false;
  bool placeholder_inputs_ = false;
};

}  // namespace

bool IsExemptApi(std::string_view second_name_part) {
  return Contains(kExemptApis, second_name_part);
}

std::string_view DtypeFamily(std::string_view dtype) {
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  const std::string lower = base::ToLower(dtype);
  const std::string_view text = lower;
  if (text == "bool") return "bool";
  if (text.starts_with("int") || text.starts_with("uint")) return "int";
  if (text == "float16" || text == "float32" || text == "float64" || text == "bfloat16") {
    return "float";
  }
  if (text.starts_with("complex")) return "complex";
  return dtype;
}

void JudgeApi(Mode mode, const RuleSet& rules, std::span<ComparedRow> rows) {
  ApiJudge(mode, rules, rows).Run();
}

}  // namespace sonde::precision
