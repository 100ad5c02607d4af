// Sheets with formats: cells of numbers and texts, merged headings, colours, widths.
//
// The workbook appears complete under its name, or not at all. Threads: one. Errors: Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace sonde::report {

struct XlsxStyle {
  std::string_view number_format;  // "" for texts
  uint32_t fill = 0;               // 0xRRGGBB; 0 is none
  bool is_bold = false;
  int indent = 0;
  bool is_white = false;    // the letters
  bool is_wrapped = false;  // and at the top of its cell
  friend auto operator<=>(const XlsxStyle&, const XlsxStyle&) = default;
};

struct XlsxCell {
  std::variant<std::monostate, int64_t, double, std::string> value;  // no infinities
  XlsxStyle style;
};

struct XlsxMerge {  // cells of one row
  size_t row = 0;
  size_t first = 0;
  size_t last = 0;
  std::string text;
  XlsxStyle style;
};

struct StyledSheet {
  std::string name;  // at most 31 characters
  std::vector<double> widths;
  std::vector<XlsxMerge> merges;  // in rows before `first_row`
  size_t first_row = 0;
  std::vector<std::vector<XlsxCell>> rows;
};

// In Arial 11, left, with a border.
Status WriteStyledSheets(const std::vector<StyledSheet>& sheets, const std::string& path);

}  // namespace sonde::report
