#include "precision/tensor/tensor_comparison.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/tensor/metrics.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::precision {
namespace {

Result<Tensor> OpenFile(const TensorSource& source, std::string_view data_name, bool is_target) {
  // A dump may come from anywhere: its names must not lead out of its folder.
  if (data_name.find('/') != std::string_view::npos) {
    return base::InvalidArgumentError(
        base::Concat("data_name '", data_name, "' is no plain file name"));
  }
  const std::string& folder = is_target ? source.target_folder : source.golden_folder;
  SONDE_ASSIGN_OR_RETURN(Tensor tensor, OpenTensorFile(base::JoinPath(folder, data_name)));
  if (source.transform) {
    return source.transform(std::move(tensor), std::string(data_name), is_target);
  }
  return tensor;
}

// Modules that another engine has in one share their input; their weights lie behind one another,
// their outputs side by side.
Result<Tensor> OpenJoined(const TensorSource& source, std::string_view data_name, bool is_target) {
  std::vector<Tensor> parts;
  for (const std::string_view name : base::Split(data_name, ';')) {
    SONDE_ASSIGN_OR_RETURN(Tensor part, OpenFile(source, name, is_target));
    parts.push_back(std::move(part));
    if (data_name.find(".input.") != std::string_view::npos) return parts.front();
  }
  const bool weights = data_name.find(".parameters.") != std::string_view::npos;
  Result<Tensor> joined = Tensor::Concatenate(parts, weights ? 0 : 1);
  if (joined.ok()) return joined;
  return base::InvalidArgumentError(base::Concat(data_name, ": ", joined.status().message()));
}

Result<Tensor> OpenOf(const TensorSource& source, const DumpRow& row, bool is_target) {
  const bool several = source.join_files && row.data_name.find(';') != std::string_view::npos;
  return several ? OpenJoined(source, row.data_name, is_target)
                 : OpenFile(source, row.data_name, is_target);
}

// Calls whose outputs are longer than what they computed, and the argument that gives the valid
// length.
struct GroupedCall {
  std::string_view api;
  std::string_view argument;
};
constexpr GroupedCall kGroupedCalls[] = {{"npu_dequant_swiglu_quant", ".input.group_index"},
                                         {"npu_grouped_matmul", ".input.group_list"}};

constexpr int64_t kAllRows = -1;

// The sum of the group sizes; kAllRows where it cannot be read.
int64_t ValidRows(const TensorSource& source, const DumpRow& row) {
  if (row.data_name.empty()) return kAllRows;
  const Result<Tensor> groups = OpenOf({source.target_folder, ""}, row, true);
  if (!groups.ok() || (groups->dtype() != Dtype::kInt32 && groups->dtype() != Dtype::kInt64)) {
    return kAllRows;
  }
  std::vector<double> sizes(static_cast<size_t>(groups->element_count()));
  groups->ReadDoubles(0, sizes.size(), sizes.data());
  double sum = 0;
  for (const double size : sizes) sum += size;
  return sum >= 0 ? static_cast<int64_t>(sum) : kAllRows;
}

// For every target row how many rows of its tensor count; only outputs of grouped calls have fewer
// than all.
std::vector<int64_t> FindValidRows(const TensorSource& source, const Comparison& comparison) {
  const uint32_t count = comparison.target_row_count();
  std::vector<int64_t> out(count, kAllRows);
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    const DumpRow& first = *comparison.rows[begin].target;
    while (end < count && comparison.rows[end].target->api == first.api) ++end;
    for (const GroupedCall& call : kGroupedCalls) {
      if (first.name.find(call.api) == std::string_view::npos) continue;
      int64_t rows = kAllRows;
      for (uint32_t i = begin; i < end; ++i) {
        const DumpRow& row = *comparison.rows[i].target;
        if (row.name.ends_with(call.argument)) rows = ValidRows(source, row);
      }
      for (uint32_t i = begin; i < end; ++i) {
        if (comparison.rows[i].target->IsOutput()) out[i] = rows;
      }
    }
  }
  return out;
}

struct RowOutcome {
  std::string problem;
  uint64_t bytes = 0;
};

uint64_t Bytes(const Tensor& tensor) {
  return static_cast<uint64_t>(tensor.element_count()) * DtypeSize(tensor.dtype());
}

RowOutcome FillRow(const TensorSource& source, size_t index, int64_t valid_rows, ComparedRow* row,
                   std::vector<ExtraColumn>* extra) {
  row->cells = UniformCells(Cell::Kind::kUnsupported);
  if (row->golden == nullptr || row->target->data_name.empty() || row->golden->data_name.empty()) {
    return {};
  }
  Result<Tensor> target = OpenOf(source, *row->target, true);
  if (target.ok() && valid_rows != kAllRows) target = target->WithZerosFrom(valid_rows);
  if (!target.ok()) return {std::string(target.status().message()), 0};
  const Result<Tensor> golden = OpenOf(source, *row->golden, false);
  if (!golden.ok()) return {std::string(golden.status().message()), 0};
  row->cells = CompareTensors(*target, *golden);
  for (size_t i = 0; i < source.metrics.size(); ++i) {
    (*extra)[i].cells[index] = source.metrics[i].Compare(*target, *golden);
  }
  return {"", Bytes(*target) + Bytes(*golden)};
}

}  // namespace

TensorFileIssues FillTensorMetrics(const TensorSource& source, Comparison* comparison) {
  for (const UserMetric& metric : source.metrics) {
    comparison->extra_columns.push_back(
        {metric.name(), std::vector<std::string>(comparison->rows.size(), "unsupported")});
  }
  const std::vector<int64_t> valid_rows =
      comparison->engine == Engine::kNone
          ? FindValidRows(source, *comparison)
          : std::vector<int64_t>(comparison->target_row_count(), kAllRows);
  std::vector<RowOutcome> outcomes(comparison->target_row_count());
  base::ParallelFor(outcomes.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      outcomes[i] =
          FillRow(source, i, valid_rows[i], &comparison->rows[i], &comparison->extra_columns);
    }
  });
  TensorFileIssues issues;
  for (RowOutcome& outcome : outcomes) {
    const auto row = static_cast<size_t>(&outcome - outcomes.data());
    issues.bytes += outcome.bytes;
    if (outcome.problem.empty()) continue;
    comparison->rows[row].Report(Message::kUnreadable, Verdict::kError);
    if (issues.unreadable++ == 0) issues.first = std::move(outcome.problem);
  }
  return issues;
}

}  // namespace sonde::precision
