#include <algorithm>
#include <set>

#include "advisor/output/write.h"
#include "base/strings.h"
#include "report/styled_sheets.h"

namespace sonde::advisor {
namespace {

using report::StyledSheet;
using report::XlsxCell;

constexpr uint32_t kHeading = 0x187498;
constexpr size_t kMaxName = 31;
constexpr size_t kMaxRows = 1'048'575;
constexpr size_t kWidest = 100;

// Letters of other scripts take two columns, and several bytes.
size_t ColumnWidthOf(std::string_view line) {
  size_t width = 0;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) ++width;
    if (byte >= 0xC0) width += byte >= 0xE0 ? 2 : 1;
  }
  return width;
}

size_t WidestLine(const std::string& text) {
  size_t widest = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    widest = std::max(widest, ColumnWidthOf(line));
  }
  return widest;
}

XlsxCell CellOf(const Value& value, bool is_heading) {
  XlsxCell cell;
  cell.style.is_wrapped = true;
  if (is_heading) {
    cell.style.fill = kHeading;
    cell.style.is_bold = true;
    cell.style.is_white = true;
  }
  std::visit([&](const auto& one) { cell.value = one; }, value);
  return cell;
}

void AddRow(const std::vector<Value>& values, bool is_heading, StyledSheet& sheet) {
  constexpr size_t kLeast = 8;
  constexpr size_t kMargin = 2;
  sheet.widths.resize(std::max(sheet.widths.size(), values.size()), kLeast);
  auto& cells = sheet.rows.emplace_back();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t width = std::min(WidestLine(TextOf(values[i])) + kMargin, kWidest);
    sheet.widths[i] = std::max(sheet.widths[i], static_cast<double>(width));
    cells.push_back(CellOf(values[i], is_heading));
  }
}

StyledSheet StyledOf(const AdviceSheet& sheet) {
  StyledSheet out;
  out.name = sheet.name;
  std::vector<Value> headings(sheet.columns.begin(), sheet.columns.end());
  AddRow(headings, true, out);
  std::set<std::vector<std::string>> known;
  for (const auto& row : sheet.rows) {
    std::vector<std::string> texts;
    for (const Value& value : row) texts.push_back(TextOf(value));
    // As the reference: what is in the sheet is not there twice.
    if (!known.insert(std::move(texts)).second) continue;
    if (out.rows.size() > kMaxRows) break;
    AddRow(row, false, out);
  }
  return out;
}

StyledSheet StyledOf(std::string name, const std::vector<std::vector<Value>>& rows) {
  StyledSheet out;
  out.name = std::move(name);
  for (size_t i = 0; i < rows.size(); ++i) AddRow(rows[i], i == 0, out);
  return out;
}

// Cut without cutting a letter; characters that a workbook refuses are left out.
std::string ShortName(std::string_view name) {
  std::string out;
  size_t letters = 0;
  for (const char c : name) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && letters == kMaxName) break;
    letters += begins ? 1 : 0;
    if (std::string_view("[]:*?/\\").find(c) == std::string_view::npos) out += c;
  }
  return out;
}

std::vector<const AdviceSheet*> SheetsOf(const Advice& advice) {
  std::vector<const AdviceSheet*> sheets;
  if (!advice.sheet.rows.empty()) sheets.push_back(&advice.sheet);
  for (const AdviceSheet& sheet : advice.more_sheets) {
    if (!sheet.rows.empty()) sheets.push_back(&sheet);
  }
  return sheets;
}

class Sheets {
 public:
  void Add(StyledSheet sheet) {
    sheet.name = ShortName(sheet.name);
    // Several ranks may have the same row.
    if (names_.insert(base::ToLower(sheet.name)).second) sheets_.push_back(std::move(sheet));
  }
  void Add(const Advice& advice) {
    std::vector<AdviceSheet> sheets;
    for (const AdviceSheet* sheet : SheetsOf(advice)) {
      if (!sheets.empty() && sheets.back().name == sheet->name) {
        auto& rows = sheets.back().rows;
        rows.insert(rows.end(), sheet->rows.begin(), sheet->rows.end());
      } else {
        sheets.push_back(*sheet);
      }
    }
    for (const AdviceSheet& sheet : sheets) Add(StyledOf(sheet));
  }
  const std::vector<StyledSheet>& all() const { return sheets_; }

 private:
  std::set<std::string> names_;
  std::vector<StyledSheet> sheets_;
};

}  // namespace

Status WriteWorkbook(const Report& report, const std::string& path) {
  const bool is_chinese = report.language == Language::kChinese;
  Sheets sheets;
  sheets.Add(StyledOf(is_chinese ? "问题综述" : "problems", ProblemRows(report)));
  for (const bool is_reference : {true, false}) {
    if (!is_reference) {
      sheets.Add(StyledOf(is_chinese ? "建议与依据" : "advice and evidence", EvidenceRows(report)));
    }
    for (const Advice& advice : report.advice) {
      if (advice.rule->is_reference != is_reference) continue;
      sheets.Add(advice);
    }
  }
  return report::WriteStyledSheets(sheets.all(), path);
}

}  // namespace sonde::advisor
