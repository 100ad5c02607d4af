#include "compare/communication/communication_sheet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "compare/frame/communicates.h"

namespace sonde::compare {
namespace {

#define SONDE_COMMUNICATION_SIDE(of)                                                             \
  {"Communication OP Name", "operation", Format::kBold, 25, of},                                 \
      {"Task Name", "task", Format::kPlain, 20, of}, {"Calls", "calls", Format::kPlain, 10, of}, \
      {"Total Duration(us)", "total_us", Format::kFloat, 17, of},                                \
      {"Avg Duration(us)", "average_us", Format::kFloat, 17, of},                                \
      {"Max Duration(us)", "max_us", Format::kFloat, 17, of}, {                                  \
    "Min Duration(us)", "min_us", Format::kFloat, 17, of                                         \
  }
constexpr Column kCommunicationColumns[] = {
    {"Order Id", "order_id", Format::kPlain, 10},
    SONDE_COMMUNICATION_SIDE(Of::kBase),
    SONDE_COMMUNICATION_SIDE(Of::kComparison),
    {"Diff Duration(us)", "diff_us", Format::kFloat, 20},
    {"Diff Ratio", "diff_ratio", Format::kRatio, 20, Of::kBoth, true}};
#undef SONDE_COMMUNICATION_SIDE
constexpr SheetInfo kCommunicationInfo = {
    "CommunicationCompare", "communication operations of one kind, below them their tasks",
    kCommunicationColumns};

using Durations = std::vector<int64_t>;
template <class Value>
using InOrder = std::vector<std::pair<std::string, Value>>;

template <class Value>
Value& At(InOrder<Value>& list, std::string_view name) {
  for (auto& [key, value] : list) {
    if (key == name) return value;
  }
  return list.emplace_back(std::string(name), Value{}).second;
}

struct Kind {
  Durations operations;
  InOrder<Durations> tasks;
};

// "allreduce" of "hcom_allReduce__586_0_1", "ncclkernel" of "ncclKernel_AllReduce_...".
std::string KindOf(std::string_view name) {
  const std::string lower = base::ToLower(name);
  const auto parts = base::Split(lower, '_');
  if (parts.size() < 2) return {};
  return std::string(parts[0] == "hcom" ? parts[1] : parts[0]);
}

InOrder<Kind> GatherOfGpu(const Side& side) {
  InOrder<Kind> kinds;
  std::map<int64_t, std::string> types;  // by begin
  for (const CommunicationOp& op : side.communications) {
    types.try_emplace(op.begin_ns, base::ToLower(side.Name(op.type)));
  }
  for (const Kernel& kernel : side.kernels) {
    if (!Communicates(side, kernel)) continue;
    const std::string_view name = side.Name(kernel.name);
    // As the reference names those of NCCL; others by their type.
    const bool is_nccl = base::ToLower(name.substr(0, 4)) == "nccl";
    const auto op = types.find(kernel.begin_ns);
    const std::string kind = is_nccl || op == types.end() ? KindOf(name) : op->second;
    if (!kind.empty()) At(kinds, kind).operations.push_back(kernel.dur_ns);
  }
  return kinds;
}

InOrder<Kind> GatherCommunication(const Side& side) {
  if (side.kind == SideKind::kGpu) return GatherOfGpu(side);
  InOrder<Kind> kinds;
  for (const CommunicationOp& op : side.communications) {
    std::string name = KindOf(side.Name(op.name));
    if (name.empty()) name = base::ToLower(side.Name(op.type));
    if (name.empty()) continue;
    Kind& kind = At(kinds, name);
    kind.operations.push_back(op.end_ns - op.begin_ns);
    for (const uint32_t place : op.tasks) {
      const CommunicationTask& task = side.communication_tasks[place];
      At(kind.tasks, side.Name(task.name)).push_back(task.end_ns - task.begin_ns);
    }
  }
  return kinds;
}

int64_t TotalOf(const Durations& durations) {
  int64_t total_ns = 0;
  for (const int64_t dur_ns : durations) total_ns += dur_ns;
  return total_ns;
}

void AddSide(std::string_view operation, std::string_view task, const Durations& durations,
             std::vector<Cell>& cells) {
  constexpr size_t kColumnsOfSide = 7;
  constexpr size_t kTotal = 3;
  if (durations.empty()) {
    const size_t begin = cells.size();
    cells.resize(begin + kColumnsOfSide);
    cells[begin + kTotal] = 0.0;
    return;
  }
  const double total_us = Us(TotalOf(durations));
  cells.emplace_back(std::string(operation));
  cells.push_back(task.empty() ? Cell() : Cell(std::string(task)));
  cells.insert(cells.end(), {Cell(static_cast<int64_t>(durations.size())), Cell(total_us),
                             Cell(total_us / static_cast<double>(durations.size())),
                             Cell(Us(*std::max_element(durations.begin(), durations.end()))),
                             Cell(Us(*std::min_element(durations.begin(), durations.end())))});
}

void AddKind(std::string_view name, const Kind& base, const Kind& comparison, Sheet& sheet) {
  Row& row = sheet.rows.emplace_back();
  row.cells.emplace_back();
  AddSide(name, "", base.operations, row.cells);
  AddSide(name, "", comparison.operations, row.cells);
  const Difference difference =
      DifferenceOf(Us(TotalOf(base.operations)), Us(TotalOf(comparison.operations)));
  row.cells.insert(row.cells.end(), {Cell(difference.diff), Cell(difference.ratio)});
  InOrder<std::pair<Durations, Durations>> tasks;
  for (const auto& [task, durations] : base.tasks) At(tasks, task).first = durations;
  for (const auto& [task, durations] : comparison.tasks) At(tasks, task).second = durations;
  for (const auto& [task, durations] : tasks) {
    Row& below = sheet.rows.emplace_back();
    below.cells.emplace_back();
    AddSide("|", task, durations.first, below.cells);
    AddSide("|", task, durations.second, below.cells);
    below.cells.resize(below.cells.size() + 2);
  }
}

}  // namespace

Sheet CommunicationSheet(const Side& base, const Side& comparison) {
  Sheet sheet{.info = &kCommunicationInfo, .rows = {}};
  InOrder<std::pair<Kind, Kind>> kinds;
  for (auto& [name, kind] : GatherCommunication(base)) At(kinds, name).first = std::move(kind);
  for (auto& [name, kind] : GatherCommunication(comparison))
    At(kinds, name).second = std::move(kind);
  for (const auto& [name, kind] : kinds) AddKind(name, kind.first, kind.second, sheet);
  NumberRows(sheet);
  return sheet;
}

}  // namespace sonde::compare
