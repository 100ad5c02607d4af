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

Result<Tensor> OpenOf(const TensorSource& source, const DumpRow& row, bool is_target) {
  // A dump may come from anywhere: its names must not lead out of its folder.
  if (row.data_name.find('/') != std::string_view::npos) {
    return base::InvalidArgumentError(
        base::Concat("data_name '", row.data_name, "' is no plain file name"));
  }
  const std::string& folder = is_target ? source.target_folder : source.golden_folder;
  SONDE_ASSIGN_OR_RETURN(Tensor tensor, OpenTensorFile(base::JoinPath(folder, row.data_name)));
  if (source.transform) {
    return source.transform(std::move(tensor), std::string(row.data_name), is_target);
  }
  return tensor;
}

struct RowOutcome {
  std::string problem;
  uint64_t bytes = 0;
};

uint64_t Bytes(const Tensor& tensor) {
  return static_cast<uint64_t>(tensor.element_count()) * DtypeSize(tensor.dtype());
}

RowOutcome FillRow(const TensorSource& source, size_t index, ComparedRow* row,
                   std::vector<ExtraColumn>* extra) {
  row->cells = UniformCells(Cell::Kind::kUnsupported);
  if (row->golden == nullptr || row->target->data_name.empty() || row->golden->data_name.empty()) {
    return {};
  }
  const Result<Tensor> target = OpenOf(source, *row->target, true);
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
  std::vector<RowOutcome> outcomes(comparison->target_row_count());
  base::ParallelFor(outcomes.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      outcomes[i] = FillRow(source, i, &comparison->rows[i], &comparison->extra_columns);
    }
  });
  TensorFileIssues issues;
  for (RowOutcome& outcome : outcomes) {
    issues.bytes += outcome.bytes;
    if (outcome.problem.empty()) continue;
    if (issues.unreadable++ == 0) issues.first = std::move(outcome.problem);
  }
  return issues;
}

}  // namespace sonde::precision
