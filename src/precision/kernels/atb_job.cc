#include "precision/kernels/atb_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/kernels/atb_tensor.h"
#include "precision/merge/table_file.h"
#include "precision/tensor/metrics.h"
#include "report/text_table.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;
using AtbCells = std::vector<std::string>;

constexpr std::string_view kNoValue = "N/A";
constexpr std::string_view kDumpFolder = "atb_dump_data";
constexpr size_t kFoldersAboveDump = 4;  // atb_dump_data/<device_pid>/<...>/<...>/ is the root
// Columns of statistic.csv.
constexpr size_t kColumns = 15;
enum Column : size_t {
  kDevice = 0,
  kExecution = 1,
  kOperation = 2,
  kNumber = 4,
  kDirection = 5,
  kIndex = 6,
  kDtype = 7,
  kShape = 9,
  kFirstStatistic = 10,
  kPath = 14,
};

struct AtbRow {
  std::string name;
  AtbCells cells;
  std::string path;  // of the tensor; empty: none
};

struct AtbDump {
  std::vector<AtbRow> rows;
  std::unordered_map<std::string_view, size_t> by_name;
  bool tensors = false;
};

// "a/b" and "0_3" give "0_a/3_b/output.1"; empty where the two do not fit.
std::string NameOf(const AtbCells& row) {
  const std::vector<std::string_view> names = base::Split(row[kOperation], '/');
  const std::vector<std::string_view> numbers = base::Split(row[kNumber], '_');
  if (names.size() != numbers.size()) return {};
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) out += Concat(numbers[i], "_", names[i], "/");
  return out + Concat(row[kDirection], ".", row[kIndex]);
}

// The path as written names the machine that dumped; below the root it is the same. Nullopt: it
// leads elsewhere.
std::optional<std::string> TensorPath(const std::string& root, std::string_view written) {
  const size_t at = written.rfind(kDumpFolder);
  if (at == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> parts = base::Split(written.substr(at), '/');
  if (parts.size() <= kFoldersAboveDump) return std::nullopt;
  std::string out = root;
  for (size_t i = kFoldersAboveDump; i < parts.size(); ++i) {
    if (parts[i] == "..") return std::nullopt;
    out = base::JoinPath(out, parts[i]);
  }
  return out;
}

Result<AtbDump> ReadDump(const std::string& folder) {
  const std::string path = base::JoinPath(folder, "statistic.csv");
  SONDE_ASSIGN_OR_RETURN(const TableRows table, ReadTableFile(path));
  AtbDump out;
  for (size_t i = 1; i < table.size(); ++i) {
    if (table[i].size() != kColumns) continue;
    AtbRow row = {NameOf(table[i]), table[i], ""};
    if (row.name.empty()) continue;
    if (row.cells[kPath] != kNoValue) {
      const auto tensor = TensorPath(folder, row.cells[kPath]);
      if (!tensor) continue;
      row.path = *tensor;
    }
    out.rows.push_back(std::move(row));
  }
  if (out.rows.empty()) {
    return base::CorruptDataError(Concat(path, " holds no rows of an ATB dump (15 columns)"));
  }
  for (size_t i = 0; i < out.rows.size(); ++i) out.by_name[out.rows[i].name] = i;
  out.tensors = !out.rows[0].path.empty();
  return out;
}

std::optional<double> AtbNumber(std::string_view text) {
  const std::string lower = base::ToLower(base::Trim(text));
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (lower == "inf") return std::numeric_limits<double>::infinity();
  if (lower == "-inf") return -std::numeric_limits<double>::infinity();
  return base::ParseDouble(lower);
}

void AddPair(const std::string& target, const std::string& golden, AtbCells* out) {
  out->push_back(target);
  out->push_back(golden);
}

AtbCells AtbFirstCells(const AtbRow& target, const AtbRow& golden) {
  AtbCells out;
  AddPair(target.name, golden.name, &out);
  for (const Column column : {kDevice, kExecution, kDtype, kShape}) {
    AddPair(target.cells[column], golden.cells[column], &out);
  }
  return out;
}

AtbCells AtbStatisticsRow(const AtbRow& target, const AtbRow& golden) {
  AtbCells differences;
  AtbCells relatives;
  AtbCells values;
  for (size_t i = 0; i < 4; ++i) {
    const std::string& t = target.cells[kFirstStatistic + i];
    const std::string& g = golden.cells[kFirstStatistic + i];
    AddPair(t, g, &values);
    const auto ours = AtbNumber(t);
    const auto theirs = AtbNumber(g);
    if (!ours || !theirs) {
      differences.emplace_back(kNoValue);
      relatives.emplace_back(kNoValue);
      continue;
    }
    const double difference = *ours - *theirs;
    differences.push_back(base::PythonDoubleText(difference));
    relatives.push_back(difference == 0 ? "0.0"
                        : *theirs == 0
                            ? std::string(kNoValue)
                            : base::PythonDoubleText(std::fabs(difference / *theirs * 100)));
  }
  AtbCells out = AtbFirstCells(target, golden);
  for (const AtbCells& part : {differences, relatives, values}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

std::string FiniteOrNothing(double value) {
  return std::isnan(value) ? std::string(kNoValue)
                           : base::PythonDoubleText(static_cast<double>(static_cast<float>(value)));
}

// Max, Min, Mean, Norm of a tensor's values as 32 bit floats.
AtbCells TensorStatistics(const Result<Tensor>& tensor) {
  AtbCells out(4, std::string(kNoValue));
  if (!tensor.ok() || tensor->element_count() == 0 || tensor->shape().empty()) return out;
  constexpr int64_t kBlock = 4096;
  std::vector<double> values(kBlock);
  double max = -std::numeric_limits<double>::infinity();
  double min = std::numeric_limits<double>::infinity();
  double sum = 0;
  double squares = 0;
  for (int64_t at = 0; at < tensor->element_count(); at += kBlock) {
    const auto count = static_cast<size_t>(std::min(kBlock, tensor->element_count() - at));
    tensor->ReadDoubles(at, count, values.data());
    for (size_t i = 0; i < count; ++i) {
      max = std::max(max, values[i]);
      min = std::min(min, values[i]);
      sum += values[i];
      squares += values[i] * values[i];
    }
  }
  if (tensor->dtype() == Dtype::kBool) {
    return {max > 0 ? "tensor(True)" : "tensor(False)", min > 0 ? "tensor(True)" : "tensor(False)",
            out[2], out[3]};
  }
  if (std::isnan(sum)) return out;
  return {FiniteOrNothing(max), FiniteOrNothing(min),
          FiniteOrNothing(sum / static_cast<double>(tensor->element_count())),
          FiniteOrNothing(std::sqrt(squares))};
}

// `problem` receives why there are no metrics.
AtbCells AtbTensorRow(const AtbRow& target, const AtbRow& golden, std::string* problem) {
  const Result<Tensor> ours = OpenAtbTensor(target.path);
  const Result<Tensor> theirs = OpenAtbTensor(golden.path);
  std::array<Cell, kMaxCells> cells = UniformCells(Cell::Kind::kNotAvailable);
  if (ours.ok() && theirs.ok()) {
    cells = CompareTensors(*ours, *theirs);
  } else {
    *problem = ours.ok() ? theirs.status().message() : ours.status().message();
  }
  AtbCells out = AtbFirstCells(target, golden);
  for (size_t i = 0; i < kTensorMetricCount; ++i) {
    const bool whole = cells[kMaxAbsErr].kind == Cell::Kind::kNumber;
    std::string text;
    cells[i].AppendTo(&text);
    out.push_back(whole && text != "Nan" ? text : std::string(kNoValue));
  }
  const AtbCells of_ours = TensorStatistics(ours);
  const AtbCells of_theirs = TensorStatistics(theirs);
  for (size_t i = 0; i < 4; ++i) AddPair(of_ours[i], of_theirs[i], &out);
  return out;
}

AtbCells AtbColumns(bool tensors) {
  AtbCells out;
  for (const char* name :
       {"Data Name", "Device and PID", "Execution Count", "Data Type", "Data Shape"}) {
    AddPair(Concat("Target ", name), Concat("Golden ", name), &out);
  }
  const AtbCells metrics = tensors ? AtbCells{"Cosine",
                                              "Euc Distance",
                                              "Max Absolute Err",
                                              "Max Relative Err",
                                              "One Thousandth Err Ratio",
                                              "Five Thousandth Err Ratio"}
                                   : AtbCells{"Max Diff",
                                              "Min Diff",
                                              "Mean Diff",
                                              "Norm Diff",
                                              "Relative Err of Max(%)",
                                              "Relative Err of Min(%)",
                                              "Relative Err of Mean(%)",
                                              "Relative Err of Norm(%)"};
  out.insert(out.end(), metrics.begin(), metrics.end());
  for (const char* name : {"Max", "Min", "Mean", "Norm"}) {
    AddPair(Concat("Target ", name), Concat("Golden ", name), &out);
  }
  return out;
}

}  // namespace

Result<AtbOutcome> CompareAtb(const AtbOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const AtbDump target, ReadDump(options.target_path));
  SONDE_ASSIGN_OR_RETURN(const AtbDump golden, ReadDump(options.golden_path));
  if (target.tensors != golden.tensors) {
    return base::InvalidArgumentError(
        "one dump holds tensors and the other only statistics; dump both the same way");
  }
  std::vector<std::pair<const AtbRow*, const AtbRow*>> pairs;
  for (const AtbRow& row : target.rows) {
    const auto found = golden.by_name.find(row.name);
    if (found != golden.by_name.end()) pairs.emplace_back(&row, &golden.rows[found->second]);
  }
  if (pairs.empty()) return base::NotFoundError("the two dumps have no operation in common");
  AtbOutcome out;
  out.tensors = target.tensors;
  out.rows = pairs.size();
  out.target_only = target.rows.size() - pairs.size();
  out.golden_only = golden.rows.size() - std::min(golden.rows.size(), pairs.size());
  report::TextTable table = {AtbColumns(target.tensors), std::vector<AtbCells>(pairs.size())};
  std::vector<std::string> problems(pairs.size());
  base::ParallelFor(pairs.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto& [ours, theirs] = pairs[i];
      table.rows[i] = target.tensors ? AtbTensorRow(*ours, *theirs, &problems[i])
                                     : AtbStatisticsRow(*ours, *theirs);
    }
  });
  for (const std::string& problem : problems) {
    if (!problem.empty() && out.unreadable++ == 0) out.first_unreadable = problem;
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(options.output_path));
  const std::string name =
      Concat("atb_", target.tensors ? "tensor" : "stats", "_compare_result_", report::TimeStamp());
  SONDE_ASSIGN_OR_RETURN(
      out.file, report::WriteTextTable(table, base::JoinPath(options.output_path, name), true));
  return out;
}

}  // namespace sonde::precision
