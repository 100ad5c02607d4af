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

std::string_view NameOf(const DumpRow* row) {
  return row == nullptr ? std::string_view("N/A") : std::string_view(row->name);
}

void AppendNumber(double value, std::string* out) {
  out->push_back(',');
  if (value >= 0) out->append(ShortNumber(value));
}

}  // namespace

std::optional<uint32_t> RowOfFinding(const Comparison& comparison, const FirstCause& cause) {
  if (!cause.IsFinding()) return std::nullopt;
  std::optional<uint32_t> behind;  // a row of the call at which the target shows it
  for (uint32_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    const bool is_row = cause.target_row != nullptr
                            ? row.target == cause.target_row
                            : cause.golden_row != nullptr && row.golden == cause.golden_row;
    if (is_row) return i;
    const bool is_of_call = !behind && row.target != nullptr && cause.target_call != kNoCall &&
                            static_cast<int32_t>(row.target->api) == cause.target_call;
    if (is_of_call) behind = i;
  }
  if (cause.target_row != nullptr || cause.golden_row != nullptr) return behind;
  for (const ComparedGroup& group : comparison.groups) {
    if (group.api == cause.place && group.row_count > 0) return group.first_row;
  }
  for (uint32_t i = comparison.golden_only_begin; i < comparison.rows.size(); ++i) {
    if (comparison.rows[i].golden->name.starts_with(cause.place + ".")) return i;
  }
  return behind;
}

std::vector<RowCause> RowCausesOf(const Comparison& comparison, const FirstCause& cause) {
  std::vector<RowCause> out(comparison.rows.size());
  const bool finding = cause.IsFinding() && cause.target_call != kNoCall;
  for (size_t i = 0; i < out.size(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    const bool is_pair = row.golden != nullptr && row.target != nullptr;
    out[i].cause = is_pair ? kNoDifference : kNotCompared;
    if (!is_pair || !finding) continue;
    if (static_cast<int32_t>(row.target->api) < cause.target_call) continue;
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
  if (const auto row = RowOfFinding(comparison, cause)) out[*row].cause = CauseText(cause.kind);
  return out;
}

Status WriteRowCauses(const Comparison& comparison, const std::vector<RowCause>& causes,
                      const std::string& path) {
  std::string text = "NPU Name,Bench Name,cause,distance,explained,ratio\n";
  for (size_t i = 0; i < causes.size(); ++i) {
    const RowCause& row = causes[i];
    const ComparedRow& compared = comparison.rows[i];
    const bool says_nothing = compared.target == nullptr && row.cause == kNotCompared;
    if (row.cause == kNoDifference || says_nothing) continue;
    report::AppendCsvCell(NameOf(compared.target), &text);
    text.push_back(',');
    report::AppendCsvCell(NameOf(compared.golden), &text);
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
