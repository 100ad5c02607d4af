#include "precision/kernels/kernel_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/compare/cell.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_values.h"
#include "precision/tensor/metrics.h"
#include "precision/tensor/tensor_file.h"
#include "report/text_table.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Verdict on tensors, as of the older generation.
constexpr double kCosineLimit = 0.99;
constexpr double kCosineLowest = 0.9;
constexpr double kMaxAbsErrLimit = 0.001;
constexpr double kMaxAbsErrHighest = 1;
// Verdict on statistics.
constexpr double kMagnitudeLimit = 0.5;
constexpr double kMagnitudeFloor = 1e-10;

struct KernelPair {
  const KernelRecord* target = nullptr;
  const KernelRecord* golden = nullptr;
  int64_t time() const { return target != nullptr ? target->time : golden->time; }
};

// The cells of one side.
struct SideCells {
  std::string name;
  std::string dtype;
  std::string shape;
  std::array<std::string, 4> statistics;
};

struct KernelRow {
  std::vector<std::string> cells;
  std::string verdict;
  std::string problem;  // a tensor that could not be read
};

void AddSide(const KernelFolder& folder, bool is_target,
             std::map<std::pair<std::string, size_t>, KernelPair>* out) {
  std::vector<const KernelRecord*> records;
  records.reserve(folder.records.size());
  for (const KernelRecord& record : folder.records) records.push_back(&record);
  std::stable_sort(records.begin(), records.end(), [](const auto* a, const auto* b) {
    return std::pair(std::string_view(a->name), a->time) <
           std::pair(std::string_view(b->name), b->time);
  });
  size_t occurrence = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    occurrence = i > 0 && records[i]->name == records[i - 1]->name ? occurrence + 1 : 0;
    KernelPair& pair = (*out)[{records[i]->name, occurrence}];
    (is_target ? pair.target : pair.golden) = records[i];
  }
}

std::vector<KernelPair> PairKernels(const KernelFolder& target, const KernelFolder& golden) {
  std::map<std::pair<std::string, size_t>, KernelPair> by_name;
  AddSide(target, true, &by_name);
  AddSide(golden, false, &by_name);
  std::vector<KernelPair> out;
  std::transform(by_name.begin(), by_name.end(), std::back_inserter(out),
                 [](const auto& entry) { return entry.second; });
  return out;
}

SideCells TensorCells(const KernelRecord* record, const Tensor* tensor) {
  if (record == nullptr) return {};
  if (tensor == nullptr) return {record->path, "", "", {}};
  return {record->path, std::string(DtypeName(tensor->dtype())), ShapeText(tensor->shape()),
          StatisticsOf(*tensor)};
}

SideCells StatisticsCells(const KernelRecord* record) {
  if (record == nullptr) return {};
  SideCells out = {record->name, record->dtype, record->shape, {}};
  std::replace(out.shape.begin(), out.shape.end(), '(', '[');
  std::replace(out.shape.begin(), out.shape.end(), ')', ']');
  std::transform(record->statistics.begin(), record->statistics.end(), out.statistics.begin(),
                 &NumberText);
  return out;
}

std::vector<std::string> FirstCells(const SideCells& target, const SideCells& golden) {
  std::vector<std::string> out = {target.name,  golden.name,  target.dtype,
                                  golden.dtype, target.shape, golden.shape};
  out.insert(out.end(), target.statistics.begin(), target.statistics.end());
  out.insert(out.end(), golden.statistics.begin(), golden.statistics.end());
  return out;
}

std::string TensorVerdict(const Cell& cosine, const Cell& difference) {
  if (cosine.kind == Cell::Kind::kShapeUnmatched) return "Unmatched";
  if (cosine.kind == Cell::Kind::kNotAvailable) return "No";
  if (cosine.kind == Cell::Kind::kUnsupported || difference.kind != Cell::Kind::kNumber) {
    return "None";
  }
  const double c = cosine.kind == Cell::Kind::kNumber ? cosine.value : NAN;
  const bool bad = (c < kCosineLimit && difference.value > kMaxAbsErrLimit) || c < kCosineLowest ||
                   difference.value > kMaxAbsErrHighest;
  return bad ? "No" : "Yes";
}

// Why two tensors are not compared; empty: they are.
std::string WhyNotCompared(const Tensor* target, const Tensor* golden) {
  if (target == nullptr || golden == nullptr) return "Dump file is not ndarray.\n";
  if (target->element_count() == 0 || golden->element_count() == 0) {
    return "This is empty data, can not compare.\n";
  }
  std::string out;
  if (target->shape().empty() || golden->shape().empty()) {
    out += "This is type of scalar data, can not compare.\n";
  }
  if (target->shape() != golden->shape()) out += "Shape of NPU and bench Tensor do not match.\n";
  if (target->dtype() != golden->dtype()) {
    out += "Dtype of NPU and bench Tensor do not match. Skipped.\n";
  }
  return out;
}

std::optional<Tensor> Open(const KernelRecord* record, std::string* problem) {
  if (record == nullptr) return std::nullopt;
  Result<Tensor> tensor = OpenTensorFile(record->path);
  if (tensor.ok()) return std::move(*tensor);
  *problem += Concat(tensor.status().message(), "\n");
  return std::nullopt;
}

KernelRow TensorRow(const KernelPair& pair) {
  KernelRow out;
  std::string message;
  const std::optional<Tensor> target = Open(pair.target, &message);
  const std::optional<Tensor> golden = Open(pair.golden, &message);
  const Tensor* t = target ? &*target : nullptr;
  const Tensor* g = golden ? &*golden : nullptr;
  out.cells = FirstCells(TensorCells(pair.target, t), TensorCells(pair.golden, g));
  std::array<Cell, kMaxCells> cells = UniformCells(Cell::Kind::kNotAvailable);
  bool compared = false;
  out.problem = message;
  if (message.empty()) message = WhyNotCompared(t, g);
  if (message.empty()) {
    cells = CompareTensors(*t, *g);
    compared = cells[kCosine].kind != Cell::Kind::kNotAvailable;
    if (!compared) message = "The position of inf or nan in NPU and bench Tensor do not match.\n";
  }
  if (compared) out.verdict = TensorVerdict(cells[kCosine], cells[kMaxAbsErr]);
  out.cells.push_back(out.verdict);
  out.cells.push_back(message);
  for (size_t i = 0; i < kTensorMetricCount; ++i) {
    out.cells.emplace_back();
    if (compared) cells[i].AppendTo(&out.cells.back());
  }
  return out;
}

// The reference keeps statistics as 32 bit floats.
double Single(double value) { return static_cast<double>(static_cast<float>(value)); }

std::string StatisticsMessage(const KernelPair& pair) {
  if (pair.target == nullptr || pair.golden == nullptr) return "Dump file not found.\n";
  std::string out;
  if (pair.target->shape.empty() || pair.golden->shape.empty()) {
    out += "This is type of scalar data, can not compare.\n";
  } else if (pair.target->shape != pair.golden->shape) {
    out += "Tensor shapes do not match.\n";
  }
  if (pair.target->dtype != pair.golden->dtype) {
    out += "Dtype of NPU and bench Tensor do not match. Skipped.\n";
  }
  return out;
}

std::string RelativeText(double difference, double golden) {
  if (golden == 0) return "N/A";
  const double relative = std::fabs(Single(difference / golden) * 100);
  return std::isnan(relative) ? "Nan" : Concat(base::PythonDoubleText(Single(relative)), "%");
}

std::string StatisticsVerdict(double difference, double target, double golden) {
  if (std::isnan(target) && std::isnan(golden)) return "Yes";
  const double magnitude = difference / (std::max(target, golden) + kMagnitudeFloor);
  return magnitude <= kMagnitudeLimit ? "Yes" : "No";
}

KernelRow StatisticsRow(const KernelPair& pair) {
  KernelRow out;
  out.cells = FirstCells(StatisticsCells(pair.target), StatisticsCells(pair.golden));
  const std::string message = StatisticsMessage(pair);
  std::array<std::string, 8> metrics;
  if (message.empty()) {
    for (size_t i = 0; i < 4; ++i) {
      const double target = Single(pair.target->statistics[i]);
      const double golden = Single(pair.golden->statistics[i]);
      const double difference = Single(target - golden);
      metrics[i] = NumberText(difference);
      metrics[i + 4] = RelativeText(difference, golden);
      if (i == 0) out.verdict = StatisticsVerdict(difference, target, golden);
    }
  }
  out.cells.push_back(out.verdict);
  out.cells.push_back(message);
  out.cells.insert(out.cells.end(), metrics.begin(), metrics.end());
  out.cells.push_back(pair.target == nullptr ? "" : pair.target->path);
  out.cells.push_back(pair.golden == nullptr ? "" : pair.golden->path);
  return out;
}

std::vector<std::string> KernelColumns(bool tensors) {
  std::vector<std::string> out = {
      "NPU Name",           "Bench Name", "NPU Dtype",  "Bench Dtype",  "NPU Tensor Shape",
      "Bench Tensor Shape", "NPU max",    "NPU min",    "NPU mean",     "NPU l2norm",
      "Bench max",          "Bench min",  "Bench mean", "Bench l2norm", "Accuracy Reached or Not",
      "Err_message"};
  const std::vector<std::string> of_tensors = {"Cosine",
                                               "EucDist",
                                               "MaxAbsErr",
                                               "MaxRelativeErr",
                                               "One Thousandth Err Ratio",
                                               "Five Thousandths Err Ratio"};
  const std::vector<std::string> of_statistics = {
      "Max diff",       "Min diff",        "Mean diff",       "L2norm diff",  "MaxRelativeErr",
      "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr", "NPU CSV File", "Bench CSV File"};
  const std::vector<std::string>& rest = tensors ? of_tensors : of_statistics;
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

void Count(const std::vector<KernelPair>& pairs, const std::vector<KernelRow>& rows,
           KernelOutcome::Table* out) {
  out->rows = rows.size();
  int64_t first = INT64_MAX;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].problem.empty() && out->unreadable++ == 0) {
      out->first_unreadable = std::string(base::Trim(rows[i].problem));
    }
    if (rows[i].verdict == "Yes") ++out->accurate;
    if (rows[i].verdict != "No") continue;
    ++out->inaccurate;
    if (pairs[i].time() >= first) continue;
    first = pairs[i].time();
    out->first_bad = pairs[i].target != nullptr ? pairs[i].target->name : pairs[i].golden->name;
  }
}

Result<KernelOutcome::Table> CompareOne(const KernelOptions& options,
                                        const std::vector<std::string>& target_folders,
                                        const std::vector<std::string>& golden_folders,
                                        KernelOutcome::Table out) {
  SONDE_ASSIGN_OR_RETURN(const KernelFolder target, ReadKernelDump(target_folders));
  SONDE_ASSIGN_OR_RETURN(const KernelFolder golden, ReadKernelDump(golden_folders));
  if (target.tensors != golden.tensors) {
    return base::InvalidArgumentError(
        Concat("one run holds tensors and the other statistics: ", target_folders.front(), " and ",
               golden_folders.front()));
  }
  const std::vector<KernelPair> pairs = PairKernels(target, golden);
  std::vector<KernelRow> rows(pairs.size());
  base::ParallelFor(rows.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      rows[i] = target.tensors ? TensorRow(pairs[i]) : StatisticsRow(pairs[i]);
    }
  });
  Count(pairs, rows, &out);
  report::TextTable table = {KernelColumns(target.tensors), {}};
  for (KernelRow& row : rows) table.rows.push_back(std::move(row.cells));
  const std::string name = Concat("compare_result_", std::to_string(out.rank), "_",
                                  std::to_string(out.step), "_", report::TimeStamp());
  SONDE_ASSIGN_OR_RETURN(
      out.file,
      report::WriteTextTable(table, base::JoinPath(options.output_path, name), options.xlsx));
  return out;
}

}  // namespace

Result<KernelOutcome> CompareKernels(const KernelOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const KernelTree target,
                         FindKernelDumps(options.target_path, options.ranks, options.steps));
  SONDE_ASSIGN_OR_RETURN(const KernelTree golden,
                         FindKernelDumps(options.golden_path, options.ranks, options.steps));
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(options.output_path));
  KernelOutcome out;
  Status first_failure = base::NotFoundError("the two runs have no rank and step in common");
  for (const auto& [place, folders] : target) {
    const std::string name =
        Concat("rank ", std::to_string(place.first), " step ", std::to_string(place.second));
    const auto other = golden.find(place);
    if (other == golden.end()) {
      out.notes.push_back(Concat(name, " is only in ", options.target_path));
      continue;
    }
    Result<KernelOutcome::Table> table =
        CompareOne(options, folders, other->second, {.rank = place.first, .step = place.second});
    if (table.ok()) {
      out.tables.push_back(std::move(*table));
      continue;
    }
    if (out.notes.empty() && out.tables.empty()) first_failure = table.status();
    out.notes.push_back(Concat(name, ": ", table.status().message()));
  }
  for (const auto& [place, folders] : golden) {
    if (target.count(place) > 0) continue;
    out.notes.push_back(Concat("rank ", std::to_string(place.first), " step ",
                               std::to_string(place.second), " is only in ", options.golden_path));
  }
  if (out.tables.empty()) return first_failure;
  return out;
}

}  // namespace sonde::precision
