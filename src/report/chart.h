// Charts as inline SVG: bars, or boxes of quartiles, a row each below a common scale.
//
// Their classes are label, tick, value, grid, whisker, box and median (kChartStyle). Pure, any
// thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::report {

extern const std::string_view kChartStyle;

struct ChartRow {
  std::string label;
  std::array<double, 5> values;  // least, quartiles, greatest; of a bar the first counts
};

// What a value is called when a row is pointed at, and its unit ("ns" is shown as a duration).
std::string BarChart(const std::vector<ChartRow>& rows, std::string_view name,
                     std::string_view unit);
std::string BoxChart(const std::vector<ChartRow>& rows, std::string_view unit);

}  // namespace sonde::report
