#include <array>
#include <cmath>

#include "advisor/functions/functions.h"
#include "base/strings.h"
#include "cluster/frame/facts.h"
#include "compare/frame/load.h"
#include "compare/overall/overall.h"

namespace sonde::advisor {
namespace {

using cluster::Fixed;
using compare::KernelClass;

double Sum(const compare::Overall& overall, std::initializer_list<KernelClass> classes) {
  double ms = 0;
  for (const KernelClass one : classes) ms += overall.Of(one).ms;
  return ms;
}

struct OverallRow {
  std::string_view english;
  std::string_view chinese;
  double ms;
};

std::vector<OverallRow> RowsOf(const compare::Overall& overall) {
  using enum KernelClass;
  const double wait_ms = overall.WaitMs();
  return {
      {"Computing Time", "计算时长", overall.computing_ms},
      {"    -- Flash Attention", "    -- Flash Attention",
       Sum(overall,
           {kFlashForwardCube, kFlashForwardVector, kFlashBackwardCube, kFlashBackwardVector})},
      {"    -- Conv", "    -- Conv",
       Sum(overall,
           {kConvForwardCube, kConvForwardVector, kConvBackwardCube, kConvBackwardVector})},
      {"    -- Matmul", "    -- Matmul", Sum(overall, {kMatmulCube, kMatmulVector})},
      {"    -- Vector", "    -- Vector", Sum(overall, {kVectorTrans, kVectorOther})},
      {"    -- SDMA(Tensor Move)", "    -- SDMA(Tensor Move)", Sum(overall, {kTensorMove})},
      {"    -- Other Cube", "    -- 其它Cube", Sum(overall, {kCube})},
      {"Uncovered Communication Time", "未被掩盖的通信时长", overall.communication_ms},
      {"    -- Wait", "    -- 等待时长", wait_ms},
      {"    -- Transmit", "    -- 传输时长", overall.communication_ms - wait_ms},
      {"Free Time", "空闲时长", overall.free_ms},
      {"    -- SDMA", "    -- SDMA", overall.sdma.ms},
      {"    -- Free", "    -- 空闲时长", overall.free_ms - overall.sdma.ms},
      {"E2E Time", "E2E时长", overall.e2e_ms},
  };
}

}  // namespace

Result<Found> OverallSummary(const Rule& /*rule*/, const std::string& path, Language language,
                             int threads) {
  SONDE_ASSIGN_OR_RETURN(
      const compare::Side side,
      compare::LoadSide(path, compare::kNone, compare::Reading::kTwice, threads, [](auto) {}));
  const compare::Overall overall = compare::MeasureOverall(side);
  Found found;
  const double computing_ms = compare::Round(overall.computing_ms, 3);
  const double uncovered_ms = compare::Round(overall.communication_ms, 3);
  const double free_ms = compare::Round(overall.free_ms, 3);
  const double e2e_ms = compare::Round(computing_ms + uncovered_ms + free_ms, 3);
  found.facts = {{"occurrences", int64_t{1}},
                 {"fires", static_cast<int64_t>(overall.e2e_ms > 0)},
                 {"total_us", overall.e2e_ms * 1e3},
                 {"computing_ms", computing_ms},
                 {"uncovered_ms", uncovered_ms},
                 {"free_ms", free_ms},
                 {"e2e_ms", e2e_ms}};
  AdviceSheet& sheet = found.sheets.emplace_back();
  sheet.columns = {"Performance Index", "Duration(ms)", "Duration Ratio"};
  for (const OverallRow& row : RowsOf(overall)) {
    const double ratio = overall.e2e_ms > 0 ? row.ms / overall.e2e_ms : 0;
    const std::string name(language == Language::kChinese ? row.chinese : row.english);
    sheet.rows.push_back({name, Fixed(row.ms, 3), Fixed(100 * ratio, 2) + "%"});
  }
  return found;
}

}  // namespace sonde::advisor
