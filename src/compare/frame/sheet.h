// Sheets of a comparison: columns declared once, rows of cells.
//
// From the declaration come the sheet of the workbook (headings, widths, formats as the reference
// has them), the csv file, the table of the database and the JSON. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sonde::compare {

enum class Format : uint8_t { kPlain, kBold, kFloat, kRatio };
enum class Of : uint8_t { kBoth, kBase, kComparison };

struct Column {
  std::string_view heading;  // of the workbook, as the reference names it
  std::string_view name;     // in databases and JSON; that of a side follows its prefix
  Format format;
  double width;
  Of of = Of::kBoth;
  bool warns = false;  // above 1 it is red; infinity is written "INF"
};

struct SheetInfo {
  std::string_view name;     // of the workbook
  std::string_view meaning;  // a row
  std::span<const Column> columns;
};

using Cell = std::variant<std::monostate, int64_t, double, std::string>;
enum class Fill : uint8_t { kPlainFill, kBlue, kLightBlue };

struct Row {
  std::vector<Cell> cells;
  Fill fill = Fill::kPlainFill;
};

struct Sheet {
  const SheetInfo* info = nullptr;
  std::vector<Row> rows;
};

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

// As Python's round(value, digits): of the exact value, ties to even.
double Round(double value, int digits);

// comparison - base to two digits, and comparison / base to four: 1 where both are 0, infinity
// where the base is.
struct Difference {
  double diff = 0;
  double ratio = 1;
};
Difference DifferenceOf(double base, double comparison);

// As Python's str() of a float: "5.06", "3.0".
std::string NumberText(double value);

// "base_calls" of the column "calls" of a side.
std::string FullName(const Column& column);

inline double Us(int64_t ns) { return static_cast<double>(ns) / 1e3; }
inline double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

// Numbers the rows from 1 on in their first cell.
void NumberRows(Sheet& sheet);

}  // namespace sonde::compare
