#include "cluster/output/cells.h"

#include "base/strings.h"

namespace sonde::cluster {
namespace {

// A number as the reference's text files have it: a quotient of nanoseconds is a fraction.
std::string NumberText(const Cell& cell, double divisor) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    return divisor == 1 ? std::to_string(*integer)
                        : base::PythonDoubleText(static_cast<double>(*integer) / divisor);
  }
  return base::PythonDoubleText(std::get<double>(cell) / divisor);
}

}  // namespace

std::vector<Shown> ShownColumns(const TableInfo& info) {
  std::vector<Shown> shown;
  for (size_t i = 0; i < info.names.size(); ++i) {
    if (info.names[i].text != "-") shown.push_back({i, TextHeading(info.names[i])});
  }
  return shown;
}

std::string CellText(const Cell& cell, double divisor) {
  if (std::holds_alternative<std::monostate>(cell)) return {};
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return NumberText(cell, divisor);
}

}  // namespace sonde::cluster
