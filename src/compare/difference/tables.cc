#include "compare/difference/tables.h"

#include <cmath>
#include <limits>
#include <utility>

namespace sonde::compare {
namespace {

template <size_t count>
constexpr std::array<Column, count> ColumnsOf(
    const std::array<store::ResultColumnInfo, count>& declared) {
  constexpr double kWidth = 20;
  std::array<Column, count> columns{};
  for (size_t i = 0; i < count; ++i) {
    columns[i] = {declared[i].name, declared[i].name, Format::kPlain, kWidth};
  }
  return columns;
}

constexpr auto kStageColumns = ColumnsOf(kCompareStageColumns);
constexpr auto kCauseColumns = ColumnsOf(kCompareCauseColumns);
constexpr auto kTreeColumns = ColumnsOf(kCompareTreeColumns);
constexpr auto kRequestColumns = ColumnsOf(kCompareRequestColumns);
constexpr auto kDistributionColumns = ColumnsOf(kCompareDistributionColumns);
constexpr auto kMemoryColumns = ColumnsOf(kCompareMemoryColumns);
constexpr auto kCallColumns = ColumnsOf(kCompareCallColumns);
constexpr SheetInfo kStages = {"Verdict", kCompareStage.meaning, kStageColumns};
constexpr SheetInfo kCauses = {"Causes", kCompareCause.meaning, kCauseColumns};
constexpr SheetInfo kTree = {"DifferenceTree", kCompareTree.meaning, kTreeColumns};
constexpr SheetInfo kRequests = {"Requests", kCompareRequest.meaning, kRequestColumns};
constexpr SheetInfo kDistribution = {"RequestPercentiles", kCompareDistribution.meaning,
                                     kDistributionColumns};
constexpr SheetInfo kMemory = {"MemoryAtPeak", kCompareMemory.meaning, kMemoryColumns};
constexpr SheetInfo kCalls = {"HostCalls", kCompareCall.meaning, kCallColumns};

constexpr std::array kResults = {&kCompareStage,   &kCompareCause,        &kCompareTree,
                                 &kCompareRequest, &kCompareDistribution, &kCompareMemory,
                                 &kCompareCall};
constexpr std::array kSheets = {&kStages,       &kCauses, &kTree, &kRequests,
                                &kDistribution, &kMemory, &kCalls};
static_assert(kResults.size() == kSheets.size());

// Rows of a declared result become those of a sheet.
class SheetSink final : public store::RowSink {
 public:
  explicit SheetSink(const SheetInfo& info) : sheet_{.info = &info, .rows = {}} {}
  void Int(int64_t value) override { Add() = value; }
  void Double(double value) override {
    Cell& cell = Add();
    if (!std::isnan(value)) cell = value;
  }
  void Text(std::string_view value) override { Add() = std::string(value); }
  void Null() override { Add(); }
  void EndRow() override {
    sheet_.rows.push_back(std::move(row_));
    row_ = {};
  }
  Sheet Take() { return std::move(sheet_); }

 private:
  // Not inlined: g++ 12 warns, wrongly, of a vector of variants that grows where it is filled.
  [[gnu::noinline]] Cell& Add() { return row_.cells.emplace_back(); }

  Sheet sheet_;
  Row row_;
};

// NaN, which is written as NULL, without an interval.
double KnownOrNan(Verdict verdict, double value) {
  return verdict == Verdict::kOneStep ? std::numeric_limits<double>::quiet_NaN() : value;
}

Sheet StageSheet(const Judgement& judgement) {
  SheetSink rows(kStages);
  for (const Stage& stage : judgement.stages) {
    CompareStageRow{.stage = stage.name,
                    .device = stage.device,
                    .base_mean_ms = stage.base.mean_ms,
                    .base_steps = stage.base.steps,
                    .comparison_mean_ms = stage.comparison.mean_ms,
                    .comparison_steps = stage.comparison.steps,
                    .diff_ms = stage.diff_ms,
                    .low_ms = KnownOrNan(stage.verdict, stage.low_ms),
                    .high_ms = KnownOrNan(stage.verdict, stage.high_ms),
                    .rank_p = KnownOrNan(stage.verdict, stage.rank_tail),
                    .verdict = TextOf(stage.verdict)}
        .Write(rows);
  }
  return rows.Take();
}

Sheet CauseSheet(const Judgement& judgement) {
  SheetSink rows(kCauses);
  int64_t number = 0;
  for (const Cause& cause : judgement.causes) {
    CompareCauseRow{.order_id = ++number,
                    .cause = TextOf(cause.cause),
                    .subject = cause.subject,
                    .base_step_ms = cause.base_ms,
                    .comparison_step_ms = cause.comparison_ms,
                    .diff_ms = cause.DiffMs(),
                    .low_ms = KnownOrNan(cause.verdict, cause.low_ms),
                    .high_ms = KnownOrNan(cause.verdict, cause.high_ms),
                    .kind = TextOf(KindOf(cause.cause)),
                    .module = cause.module,
                    .verdict = TextOf(cause.verdict),
                    .evidence = cause.evidence}
        .Write(rows);
  }
  return rows.Take();
}

Sheet TreeSheet(const Judgement& judgement) {
  SheetSink rows(kTree);
  int64_t number = 0;
  for (const TreeNode& node : judgement.tree) {
    CompareTreeRow{.node_id = number++,
                   .parent_id = node.parent,
                   .depth = node.depth,
                   .node = node.kind,
                   .name = node.name,
                   .path = node.path,
                   .base_ms = node.base_ms,
                   .comparison_ms = node.comparison_ms,
                   .diff_ms = node.comparison_ms - node.base_ms,
                   .base_calls = node.base_calls,
                   .comparison_calls = node.comparison_calls,
                   .verdict = TextOf(node.verdict),
                   .subject = node.subject}
        .Write(rows);
  }
  return rows.Take();
}

Sheet RequestSheet(const Judgement& judgement) {
  constexpr size_t kMedian = 50;
  constexpr size_t kTail = 99;
  SheetSink rows(kRequests);
  for (const RequestMeasure& one : judgement.requests) {
    CompareRequestRow{.measure = one.measure,
                      .unit = one.unit,
                      .base_mean = one.mean[0],
                      .base_count = one.count[0],
                      .comparison_mean = one.mean[1],
                      .comparison_count = one.count[1],
                      .diff = one.Diff(),
                      .low = KnownOrNan(one.verdict, one.low),
                      .high = KnownOrNan(one.verdict, one.high),
                      .base_p50 = one.percentiles[0][kMedian],
                      .comparison_p50 = one.percentiles[1][kMedian],
                      .base_p99 = one.percentiles[0][kTail],
                      .comparison_p99 = one.percentiles[1][kTail],
                      .verdict = TextOf(one.verdict)}
        .Write(rows);
  }
  return rows.Take();
}

Sheet DistributionSheet(const Judgement& judgement) {
  SheetSink rows(kDistribution);
  for (const RequestMeasure& one : judgement.requests) {
    for (size_t percent = 0; percent < kPercentiles; ++percent) {
      CompareDistributionRow{.measure = one.measure,
                             .unit = one.unit,
                             .share_percent = static_cast<int64_t>(percent),
                             .base_value = one.percentiles[0][percent],
                             .comparison_value = one.percentiles[1][percent]}
          .Write(rows);
    }
  }
  return rows.Take();
}

Sheet MemorySheetOf(const Judgement& judgement) {
  SheetSink rows(kMemory);
  for (const AliveAtPeak& one : judgement.memory) {
    CompareMemoryRow{.owner = one.owner.empty() ? std::string_view("all") : one.owner,
                     .base_bytes = one.bytes[0],
                     .base_blocks = one.blocks[0],
                     .comparison_bytes = one.bytes[1],
                     .comparison_blocks = one.blocks[1],
                     .diff_bytes = one.DiffBytes()}
        .Write(rows);
  }
  return rows.Take();
}

Sheet CallSheet(const Judgement& judgement) {
  SheetSink rows(kCalls);
  for (const HostCalls& one : judgement.calls) {
    CompareCallRow{.name = one.name,
                   .base_calls = one.calls[0],
                   .base_ms = one.ms[0],
                   .comparison_calls = one.calls[1],
                   .comparison_ms = one.ms[1],
                   .diff_ms = one.DiffMs(),
                   .low_ms = KnownOrNan(one.verdict, one.low_ms),
                   .high_ms = KnownOrNan(one.verdict, one.high_ms),
                   .verdict = TextOf(one.verdict)}
        .Write(rows);
  }
  return rows.Take();
}

}  // namespace

std::span<const store::ResultInfo* const> Results() { return kResults; }

std::vector<Sheet> ResultSheets(const Judgement& judgement) {
  std::vector<Sheet> sheets;
  sheets.push_back(StageSheet(judgement));
  sheets.push_back(CauseSheet(judgement));
  sheets.push_back(TreeSheet(judgement));
  sheets.push_back(RequestSheet(judgement));
  sheets.push_back(DistributionSheet(judgement));
  sheets.push_back(MemorySheetOf(judgement));
  sheets.push_back(CallSheet(judgement));
  return sheets;
}

const store::ResultInfo& ResultOf(const Sheet& sheet) {
  size_t place = 0;
  while (kSheets[place] != sheet.info) ++place;
  return *kResults[place];
}

void WriteRows(const Sheet& sheet, store::RowSink& rows) {
  for (const Row& row : sheet.rows) {
    for (const Cell& cell : row.cells) {
      if (const auto* integer = std::get_if<int64_t>(&cell)) {
        rows.Int(*integer);
      } else if (const auto* real = std::get_if<double>(&cell)) {
        rows.Double(*real);
      } else if (const auto* text = std::get_if<std::string>(&cell)) {
        rows.Text(*text);
      } else {
        rows.Null();
      }
    }
    rows.EndRow();
  }
}

}  // namespace sonde::compare
