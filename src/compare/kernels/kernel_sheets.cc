#include "compare/kernels/kernel_sheets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"

namespace sonde::compare {
namespace {

using base::Concat;

#define SONDE_KERNEL_SIDE(of)                                     \
  {"Total Duration(us)", "total_us", Format::kFloat, 20, of},     \
      {"Avg Duration(us)", "average_us", Format::kFloat, 20, of}, \
      {"Max Duration(us)", "max_us", Format::kFloat, 20, of},     \
      {"Min Duration(us)", "min_us", Format::kFloat, 20, of}, {   \
    "Calls", "calls", Format::kPlain, 20, of                      \
  }
#define SONDE_KERNEL_RATIOS                                                   \
  {"Diff Total Ratio", "total_ratio", Format::kFloat, 20, Of::kBoth, true}, { \
    "Diff Avg Ratio", "average_ratio", Format::kFloat, 20, Of::kBoth, true    \
  }

constexpr Column kKernelColumns[] = {{"Order Id", "order_id", Format::kPlain, 10},
                                     {"Kernel", "kernel", Format::kBold, 30},
                                     {"Input Shape", "input_shape", Format::kPlain, 20},
                                     SONDE_KERNEL_SIDE(Of::kBase),
                                     SONDE_KERNEL_SIDE(Of::kComparison),
                                     SONDE_KERNEL_RATIOS};
constexpr SheetInfo kKernelInfo = {"KernelCompare", "kernels of one type with the same inputs",
                                   kKernelColumns};

constexpr Column kTypeColumns[] = {{"Order Id", "order_id", Format::kPlain, 10},
                                   {"Kernel Type", "kernel_type", Format::kBold, 30},
                                   {"Core Type", "core_type", Format::kPlain, 20},
                                   SONDE_KERNEL_SIDE(Of::kBase),
                                   SONDE_KERNEL_SIDE(Of::kComparison),
                                   SONDE_KERNEL_RATIOS};
constexpr SheetInfo kTypeInfo = {"KernelTypeCompare", "kernels of one type on one kind of core",
                                 kTypeColumns};
#undef SONDE_KERNEL_SIDE
#undef SONDE_KERNEL_RATIOS

struct Times {
  int64_t total_ns = 0;
  int64_t max_ns = 0;
  int64_t min_ns = 0;
  int64_t count = 0;
  void Add(int64_t dur_ns) {
    total_ns += dur_ns;
    max_ns = count == 0 ? dur_ns : std::max(max_ns, dur_ns);
    min_ns = count == 0 ? dur_ns : std::min(min_ns, dur_ns);
    ++count;
  }
  double AverageUs() const { return count == 0 ? 0 : Us(total_ns) / static_cast<double>(count); }
};

using Key = std::pair<std::string, std::string>;
struct ByKey {
  std::vector<Key> order;
  std::map<Key, Times> times;
};

// Those that have a type, in the order in which types, and shapes of a type, come first.
template <class KeyOf>
ByKey GatherKernel(const Side& side, bool with_communication, const KeyOf& key_of) {
  ByKey all;
  std::map<std::string, size_t> place_of_type;
  std::vector<std::vector<Key>> by_type;
  bool has_typed_kernels = false;
  for (const Kernel& kernel : side.kernels) {
    const bool counts = kernel.is_communication ? with_communication : kernel.core != kNone;
    if (!counts) continue;
    const Key key = key_of(kernel);
    if (key.first.empty() || key.first == "N/A") continue;
    has_typed_kernels = has_typed_kernels || !kernel.is_communication;
    const auto [times, is_new] = all.times.try_emplace(key);
    times->second.Add(kernel.dur_ns);
    if (!is_new) continue;
    const auto [place, is_new_type] = place_of_type.try_emplace(key.first, by_type.size());
    if (is_new_type) by_type.emplace_back();
    by_type[place->second].push_back(key);
  }
  if (!has_typed_kernels) return {};
  for (const auto& keys : by_type) all.order.insert(all.order.end(), keys.begin(), keys.end());
  return all;
}

// Shapes as kernel_details.csv and the databases write them: in quotes.
std::string ShapesText(const Side& side, int32_t shapes) {
  const std::string_view text = side.Name(shapes);
  if (text.empty()) return "N/A";
  if (side.kind == SideKind::kCpu || side.kind == SideKind::kGpu) return std::string(text);
  return Concat("\"", text, "\"");
}

template <class Number>
void AddTimes(const Times& times, const Number& number, std::vector<Cell>& cells) {
  cells.emplace_back(number(Us(times.total_ns)));
  const double average_us =
      times.count == 0 ? 0 : number(number(Us(times.total_ns)) / static_cast<double>(times.count));
  cells.emplace_back(average_us);
  if (times.count == 0) {
    cells.insert(cells.end(), 3, Cell());
    return;
  }
  cells.insert(cells.end(),
               {Cell(number(Us(times.max_ns))), Cell(number(Us(times.min_ns))), Cell(times.count)});
}

template <class Number>
Row RowOf(const Key& key, const Times& base, const Times& comparison, const Number& number) {
  constexpr size_t kTotal = 3;
  constexpr size_t kOfSide = 5;
  Row row;
  row.cells = {Cell(), key.first, key.second};
  AddTimes(base, number, row.cells);
  AddTimes(comparison, number, row.cells);
  for (const size_t column : {kTotal, kTotal + 1}) {
    row.cells.emplace_back(DifferenceOf(std::get<double>(row.cells[column]),
                                        std::get<double>(row.cells[column + kOfSide]))
                               .ratio);
  }
  return row;
}

template <class Number>
Sheet Join(const SheetInfo& info, const ByKey& a, const ByKey& b, const Number& number) {
  Sheet sheet{.info = &info, .rows = {}};
  if (a.order.empty() || b.order.empty()) return sheet;
  const auto of = [](const ByKey& side, const Key& key) {
    const auto found = side.times.find(key);
    return found == side.times.end() ? Times{} : found->second;
  };
  for (const Key& key : a.order) sheet.rows.push_back(RowOf(key, of(a, key), of(b, key), number));
  for (const Key& key : b.order) {
    if (!a.times.contains(key)) sheet.rows.push_back(RowOf(key, Times{}, of(b, key), number));
  }
  return sheet;
}

}  // namespace

Sheet KernelSheet(const Side& base, const Side& comparison) {
  const auto gather = [](const Side& side) {
    // Texts list communication operations among the kernels.
    return GatherKernel(side, true, [&side](const Kernel& kernel) {
      return Key(side.Name(kernel.type), ShapesText(side, kernel.shapes));
    });
  };
  Sheet sheet = Join(kKernelInfo, gather(base), gather(comparison),
                     [](double value) { return Round(value, 2); });
  NumberRows(sheet);
  return sheet;
}

Sheet KernelTypeSheet(const Side& base, const Side& comparison) {
  const auto gather = [](const Side& side) {
    return GatherKernel(side, false, [&side](const Kernel& kernel) {
      return Key(side.Name(kernel.type), side.Name(kernel.core));
    });
  };
  Sheet sheet =
      Join(kTypeInfo, gather(base), gather(comparison), [](double value) { return value; });
  const auto ratio = [](const Row& row) {
    return std::get<double>(row.cells[row.cells.size() - 2]);
  };
  std::stable_sort(sheet.rows.begin(), sheet.rows.end(),
                   [&](const Row& x, const Row& y) { return ratio(x) > ratio(y); });
  NumberRows(sheet);
  return sheet;
}

}  // namespace sonde::compare
