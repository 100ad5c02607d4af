#include "compare/api/api_sheet.h"

#include <unordered_map>

namespace sonde::compare {
namespace {

constexpr Column kApiColumns[] = {
    {"Order Id", "order_id", Format::kPlain, 10},
    {"api name", "name", Format::kBold, 30},
    {"Total Duration(ms)", "total_ms", Format::kFloat, 20, Of::kBase},
    {"Self Time(ms)", "self_ms", Format::kFloat, 20, Of::kBase},
    {"Avg Duration(ms)", "average_ms", Format::kFloat, 20, Of::kBase},
    {"Calls", "calls", Format::kPlain, 20, Of::kBase},
    {"Total Duration(ms)", "total_ms", Format::kFloat, 20, Of::kComparison},
    {"Self Time(ms)", "self_ms", Format::kFloat, 20, Of::kComparison},
    {"Avg Duration(ms)", "average_ms", Format::kFloat, 20, Of::kComparison},
    {"Calls", "calls", Format::kPlain, 20, Of::kComparison},
    {"Diff Total Ratio", "total_ratio", Format::kFloat, 20, Of::kBoth, true},
    {"Diff Self Ratio", "self_ratio", Format::kFloat, 20, Of::kBoth, true},
    {"Diff Avg Ratio", "average_ratio", Format::kFloat, 20, Of::kBoth, true},
    {"Diff Calls Ratio", "calls_ratio", Format::kFloat, 20, Of::kBoth, true}};
constexpr SheetInfo kApiInfo = {"ApiCompare", "a call of the host by name", kApiColumns};

struct Calls {
  int64_t total_ns = 0;
  int64_t self_ns = 0;
  int64_t count = 0;
  double TotalMs() const { return Round(Ms(total_ns), 2); }
  double SelfMs() const { return Round(Ms(self_ns), 2); }
  double AverageMs() const {
    return count == 0 ? 0 : Round(TotalMs() / static_cast<double>(count), 2);
  }
};

struct ByName {
  std::vector<std::string_view> order;
  std::unordered_map<std::string_view, Calls> calls;
};

// By begin; those of one step as the reference walks them, level by level.
std::vector<int32_t> OpsInOrder(const Side& side) {
  std::vector<int32_t> order;
  if (side.window.step_id == kNone) {
    for (size_t i = 0; i < side.ops.size(); ++i) order.push_back(static_cast<int32_t>(i));
    return order;
  }
  order = TopOps(side);
  for (size_t i = 0; i < order.size(); ++i) {
    for (int32_t child = side.OpAt(order[i]).first_child; child != kNone;
         child = side.OpAt(child).next_sibling) {
      order.push_back(child);
    }
  }
  return order;
}

ByName GatherApi(const Side& side) {
  ByName all;
  for (const int32_t place : OpsInOrder(side)) {
    const Op& op = side.OpAt(place);
    if (op.is_step) continue;
    const std::string_view name = side.Name(op.name);
    const auto [found, is_new] = all.calls.try_emplace(name);
    if (is_new) all.order.push_back(name);
    found->second.total_ns += op.DurationNs();
    found->second.self_ns += op.DurationNs();
    ++found->second.count;
    if (op.parent == kNone) continue;
    const Op& parent = side.OpAt(op.parent);
    if (!parent.is_step) all.calls[side.Name(parent.name)].self_ns -= op.DurationNs();
  }
  return all;
}

Row RowOf(std::string_view name, const Calls& base, const Calls& comparison) {
  Row row;
  row.cells = {Cell(), std::string(name)};
  for (const Calls* calls : {&base, &comparison}) {
    row.cells.insert(row.cells.end(), {Cell(calls->TotalMs()), Cell(calls->SelfMs()),
                                       Cell(calls->AverageMs()), Cell(calls->count)});
  }
  for (const auto& [a, b] :
       {std::pair(base.TotalMs(), comparison.TotalMs()),
        {base.SelfMs(), comparison.SelfMs()},
        {base.AverageMs(), comparison.AverageMs()},
        {static_cast<double>(base.count), static_cast<double>(comparison.count)}}) {
    row.cells.emplace_back(DifferenceOf(a, b).ratio);
  }
  return row;
}

}  // namespace

Sheet ApiSheet(const Side& base, const Side& comparison) {
  Sheet sheet{.info = &kApiInfo, .rows = {}};
  ByName a = GatherApi(base);
  ByName b = GatherApi(comparison);
  if (a.order.empty() || b.order.empty()) return sheet;
  for (const std::string_view name : a.order) {
    const auto other = b.calls.find(name);
    sheet.rows.push_back(
        RowOf(name, a.calls[name], other == b.calls.end() ? Calls{} : other->second));
  }
  for (const std::string_view name : b.order) {
    if (!a.calls.contains(name)) sheet.rows.push_back(RowOf(name, Calls{}, b.calls[name]));
  }
  NumberRows(sheet);
  return sheet;
}

}  // namespace sonde::compare
