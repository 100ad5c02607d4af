// Results that are made from a store when they are asked for (src/recipes), each declared once:
// columns, types, units, roles, meaning. From the declaration come the row struct, the SQL table,
// every file format, the schema page and the messages of the server.
//
//   #define SONDE_COLUMNS_GAP(C) C(device_id, Int, "", KeyOf("device"), "number of the device")
//   SONDE_RESULT(GapRow, kGaps, "gap", SONDE_COLUMNS_GAP, "moments without work")
//
// Types: Int; Opt (Int; -1 inside, NULL for readers: unknown); Double; Text (a view that needs to
// live until the row is written) and OptText (NULL where empty). A unit is in the name, too (`_ns`,
// `_us2`, `_bytes`, `_percent`). Roles: KeyOf(space) identifies a row, and rows of two results
// whose keys of one space are equal describe the same thing; measures are kLess, kMore (which is
// better) or kNeither; kLabel is all else. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sonde::store {

enum class ResultType : uint8_t { kInt, kOpt, kDouble, kText, kOptText };

struct ResultRole {
  std::string_view role;    // key, measure or label
  std::string_view better;  // of a measure: less, more or ""
  std::string_view space;   // of a key
};
constexpr ResultRole KeyOf(std::string_view space) { return {"key", "", space}; }
inline constexpr ResultRole kLess = {"measure", "less", ""};
inline constexpr ResultRole kMore = {"measure", "more", ""};
inline constexpr ResultRole kNeither = {"measure", "", ""};
inline constexpr ResultRole kLabel = {"label", "", ""};

struct ResultColumnInfo {
  std::string_view name;
  ResultType type;
  std::string_view unit;
  ResultRole role;
  std::string_view meaning;
};

struct ResultInfo {
  std::string_view name;
  std::string_view meaning;  // meaning of a row
  std::span<const ResultColumnInfo> columns;
};

// Takes a result value by value, columns in order, EndRow() after each row. One thread.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void Int(int64_t value) = 0;
  virtual void Double(double value) = 0;
  virtual void Text(std::string_view value) = 0;
  virtual void Null() = 0;
  virtual void EndRow() = 0;
  // False: further rows are not needed.
  virtual bool wants_more() const { return true; }
};

template <ResultType type>
struct ResultValue {
  using Type = int64_t;
  static constexpr Type kDefault = type == ResultType::kOpt ? -1 : 0;
  static void Put(Type value, RowSink& rows) {
    type == ResultType::kOpt&& value == -1 ? rows.Null() : rows.Int(value);
  }
  template <class Visit>
  static void VisitText(Type&, Visit&) {}
};
template <>
struct ResultValue<ResultType::kDouble> {
  using Type = double;
  static constexpr Type kDefault = 0;
  static void Put(Type value, RowSink& rows) { rows.Double(value); }
  template <class Visit>
  static void VisitText(Type&, Visit&) {}
};
template <>
struct ResultValue<ResultType::kText> {
  using Type = std::string_view;
  static constexpr Type kDefault = {};
  static void Put(Type value, RowSink& rows) { rows.Text(value); }
  template <class Visit>
  static void VisitText(Type& value, Visit& visit) {
    visit(value);
  }
};
template <>
struct ResultValue<ResultType::kOptText> {
  using Type = std::string_view;
  static constexpr Type kDefault = {};
  static void Put(Type value, RowSink& rows) { value.empty() ? rows.Null() : rows.Text(value); }
  template <class Visit>
  static void VisitText(Type& value, Visit& visit) {
    visit(value);
  }
};

// BIGINT, DOUBLE or VARCHAR.
std::string_view ResultSqlType(ResultType type);
// CREATE TABLE "table" (...), with the columns of `leading` in front.
std::string CreateResultSql(const ResultInfo& result, std::string_view table,
                            std::span<const ResultColumnInfo> leading = {});
// Sections of docs/reference/results.md, and lines of `sonde query --schema`.
std::string ResultsMarkdown(std::span<const ResultInfo* const> results);
std::string ResultsText(std::span<const ResultInfo* const> results);

}  // namespace sonde::store

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define SONDE_RESULT_MEMBER(column, type, unit, role, meaning)                    \
  ::sonde::store::ResultValue<::sonde::store::ResultType::k##type>::Type column = \
      ::sonde::store::ResultValue<::sonde::store::ResultType::k##type>::kDefault;
#define SONDE_RESULT_COLUMN(column, type, unit, role, meaning)                         \
  ::sonde::store::ResultColumnInfo{#column, ::sonde::store::ResultType::k##type, unit, \
                                   ::sonde::store::role, meaning},
#define SONDE_RESULT_PUT(column, type, unit, role, meaning) \
  ::sonde::store::ResultValue<::sonde::store::ResultType::k##type>::Put(column, rows);
#define SONDE_RESULT_TEXT(column, type, unit, role, meaning) \
  ::sonde::store::ResultValue<::sonde::store::ResultType::k##type>::VisitText(column, visit);
// Row: members in the order of the columns; Write(rows) appends it to a sink, VisitTexts(visit)
// calls visit(std::string_view&) with each text.
#define SONDE_RESULT(Row, kInfo, name, columns, meaning)                               \
  struct Row {                                                                         \
    columns(SONDE_RESULT_MEMBER) void Write(::sonde::store::RowSink& rows) const {     \
      columns(SONDE_RESULT_PUT) rows.EndRow();                                         \
    }                                                                                  \
    template <class Visit>                                                             \
    void VisitTexts(Visit&& visit) {                                                   \
      columns(SONDE_RESULT_TEXT)                                                       \
    }                                                                                  \
  };                                                                                   \
  inline constexpr auto kInfo##Columns =                                               \
      std::to_array<::sonde::store::ResultColumnInfo>({columns(SONDE_RESULT_COLUMN)}); \
  inline constexpr ::sonde::store::ResultInfo kInfo = {name, meaning, kInfo##Columns};
// NOLINTEND(bugprone-macro-parentheses)
