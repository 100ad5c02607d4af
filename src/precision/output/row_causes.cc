#include "precision/output/row_causes.h"

#include "base/files.h"
#include "base/strings.h"
#include "precision/cause/evidence.h"
#include "report/csv_files.h"

namespace sonde::precision {
namespace {

constexpr std::string_view kNoDifference = "no difference";
constexpr std::string_view kBehind = "behind the first difference";
constexpr std::string_view kNotCompared = "not compared";

void AppendNumber(double value, std::string* out) {
  out->push_back(',');
  if (value >= 0) out->append(ShortNumber(value));
}

}  // namespace

std::vector<RowCause> RowCausesOf(const Comparison& comparison, const FirstCause& cause) {
  std::vector<RowCause> out(comparison.target_row_count());
  const bool finding = cause.IsFinding() && cause.target_call != kNoCall;
  for (size_t i = 0; i < out.size(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    out[i].cause = row.golden == nullptr ? kNotCompared : kNoDifference;
    const bool behind = finding && static_cast<int32_t>(row.target->api) >= cause.target_call;
    if (row.golden == nullptr || !behind) continue;
    const Difference difference = Measure(*row.target, *row.golden, &row, comparison.mode);
    if (difference.gap == Gap::kNone) continue;
    out[i].cause = difference.gap == Gap::kUnreadable ? kNotCompared : kBehind;
    out[i].distance = difference.length;
  }
  for (const JudgedRow& judged : cause.judged) {
    if (judged.row >= out.size()) continue;
    RowCause& row = out[judged.row];
    row.cause = CauseText(CauseKind::kRounding);
    row.distance = judged.distance;
    if (judged.explained <= 0) continue;
    row.explained = judged.explained;
    row.ratio = judged.distance / judged.explained;
  }
  for (size_t i = 0; finding && i < out.size(); ++i) {
    if (comparison.rows[i].target == cause.target_row) out[i].cause = CauseText(cause.kind);
  }
  return out;
}

Status WriteRowCauses(const Comparison& comparison, const std::vector<RowCause>& causes,
                      const std::string& path) {
  std::string text = "NPU Name,Bench Name,cause,distance,explained,ratio\n";
  for (size_t i = 0; i < causes.size(); ++i) {
    const RowCause& row = causes[i];
    if (row.cause == kNoDifference) continue;
    const ComparedRow& compared = comparison.rows[i];
    report::AppendCsvCell(compared.target->name, &text);
    text.push_back(',');
    report::AppendCsvCell(
        compared.golden == nullptr ? std::string_view("N/A") : compared.golden->name, &text);
    text.push_back(',');
    report::AppendCsvCell(row.cause, &text);
    AppendNumber(row.distance, &text);
    AppendNumber(row.explained, &text);
    AppendNumber(row.ratio, &text);
    text.push_back('\n');
  }
  return base::WriteFileAtomically(path, text);
}

}  // namespace sonde::precision
