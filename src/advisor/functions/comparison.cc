#include <algorithm>

#include "advisor/functions/functions.h"
#include "base/strings.h"
#include "compare/api/api_sheet.h"
#include "compare/frame/load.h"
#include "compare/kernels/kernel_sheets.h"

namespace sonde::advisor {
namespace {

using base::Concat;

std::string SideName(int64_t rank, int64_t step) {
  std::string name;
  if (rank >= 0) name += Concat("Rank", std::to_string(rank));
  if (step >= 0) name += Concat(name.empty() ? "" : " ", "Step", std::to_string(step));
  return name;
}

std::string PairName(const Pair& pair) {
  const std::string target = SideName(pair.rank, pair.step);
  const std::string benchmark = SideName(pair.benchmark_rank, pair.benchmark_step);
  if (target.empty() && benchmark.empty()) return "Target and Benchmark";
  return Concat(target, " and ", benchmark);
}

// `is_rounded`: means of texts have three digits there, as in op_statistic.csv.
Value ValueOf(const compare::Cell& cell, bool is_rounded) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) {
    constexpr int kDigits = 3;
    return is_rounded ? compare::Round(*real, kDigits) : *real;
  }
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return {};
}

// As the reference names them: the target stands as the base, so that a ratio above 1 means that
// the target is faster.
AdviceSheet SheetOf(const compare::Sheet& sheet, bool is_text) {
  AdviceSheet out;
  for (const compare::Column& column : sheet.info->columns) {
    out.columns.push_back(column.of == compare::Of::kComparison
                              ? Concat("Benchmark  ", column.heading)
                              : std::string(column.heading));
  }
  for (const compare::Row& row : sheet.rows) {
    auto& cells = out.rows.emplace_back();
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const bool is_time = sheet.info->columns[i].of != compare::Of::kBoth;
      cells.push_back(ValueOf(row.cells[i], is_text && is_time));
    }
  }
  return out;
}

using MakeSheet = compare::Sheet (*)(const compare::Side&, const compare::Side&);

Result<Found> Compare(const Pair& pair, MakeSheet make, int threads) {
  // Figures of steps may be delivered with a trace that has none: then all of it counts.
  const auto load = [&](const std::string& path, int64_t step) -> Result<compare::Side> {
    auto side = compare::LoadSide(path, step, compare::Reading::kTwice, threads, [](auto) {});
    if (side.ok() || step < 0) return side;
    auto whole =
        compare::LoadSide(path, compare::kNone, compare::Reading::kTwice, threads, [](auto) {});
    return whole.ok() && !whole->steps.empty() ? std::move(side) : std::move(whole);
  };
  SONDE_ASSIGN_OR_RETURN(const compare::Side target, load(pair.path, pair.step));
  SONDE_ASSIGN_OR_RETURN(const compare::Side benchmark,
                         load(pair.benchmark_path, pair.benchmark_step));
  const compare::Sheet sheet = make(target, benchmark);
  Found found;
  found.baseline = pair.benchmark_path;
  found.facts = {{"occurrences", static_cast<int64_t>(sheet.rows.size())},
                 {"pair", PairName(pair)}};
  if (!sheet.rows.empty()) {
    found.sheets.push_back(SheetOf(sheet, target.kind == compare::SideKind::kNpuText));
  }
  return found;
}

}  // namespace

Result<Found> KernelCompare(const Rule& /*rule*/, const Pair& pair, int threads) {
  if (pair.benchmark_path.empty()) return Found();
  return Compare(pair, &compare::KernelTypeSheet, threads);
}

Result<Found> ApiCompare(const Rule& /*rule*/, const Pair& pair, int threads) {
  if (pair.benchmark_path.empty()) return Found();
  return Compare(pair, &compare::ApiSheet, threads);
}

}  // namespace sonde::advisor
