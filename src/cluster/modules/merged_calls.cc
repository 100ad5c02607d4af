#include "cluster/modules/merged_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/strings.h"

namespace sonde::cluster {
namespace {

using base::Concat;

using Instance = std::tuple<std::string, std::string, int64_t, int64_t>;

Instance InstanceOf(const PlacedOp& op) {
  return {op.parent, op.module, op.module_begin, op.module_end};
}

// Numbers of the sequences of operators, in the order of their first instance.
std::map<Instance, size_t> Sequences(const std::vector<PlacedOp>& placed,
                                     const std::vector<LaunchingOp>& ops) {
  std::map<Instance, std::string> texts;
  for (const PlacedOp& op : placed) texts[InstanceOf(op)] += Concat(ops[op.op].name, "/");
  std::map<std::string, size_t> numbers;
  std::map<Instance, size_t> sequences;
  for (const PlacedOp& op : placed) {
    const Instance instance = InstanceOf(op);
    sequences[instance] = numbers.try_emplace(texts[instance], numbers.size()).first->second;
  }
  return sequences;
}

// Neighbouring rows of one module that differ in their sequence.
void NumberDuplicates(std::vector<MergedCalls>& rows) {
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin;
    std::set<size_t> sequences;
    const std::string parent = rows[begin].parent;
    const std::string module = rows[begin].module;
    for (; end < rows.size() && rows[end].parent == parent && rows[end].module == module; ++end) {
      sequences.insert(rows[end].sequence);
    }
    for (size_t i = begin; i < end && sequences.size() > 1; ++i) {
      const auto number = std::distance(sequences.begin(), sequences.find(rows[i].sequence));
      rows[i].module += Concat("_", std::to_string(number));
    }
    begin = end;
  }
}

}  // namespace

std::vector<MergedCalls> MergeCalls(const std::vector<PlacedOp>& placed,
                                    const std::vector<LaunchingOp>& ops) {
  const std::map<Instance, size_t> sequences = Sequences(placed, ops);
  std::map<Instance, size_t> next;  // order in the instance
  std::map<std::tuple<std::string, std::string, std::string, size_t, std::string, size_t>, size_t>
      places;
  std::vector<MergedCalls> rows;
  for (const PlacedOp& one : placed) {
    const LaunchingOp& op = ops[one.op];
    const Instance instance = InstanceOf(one);
    std::vector<std::string> names;
    int64_t ns = 0;
    for (const LaunchedKernel& kernel : op.kernels) {
      names.push_back(kernel.name);
      ns += kernel.end - kernel.begin;
    }
    MergedCalls row{.parent = one.parent,
                    .module = one.module,
                    .op = std::string(op.name),
                    .kernels = base::Join(names, ", "),
                    .begin = op.begin,
                    .order = next[instance]++,
                    .sequence = sequences.at(instance),
                    .calls = {}};
    const auto [found, is_new] = places.try_emplace(
        {row.parent, row.module, row.op, row.order, row.kernels, row.sequence}, rows.size());
    if (is_new) rows.push_back(std::move(row));
    MergedCalls& merged = rows[found->second];
    merged.total_ns += static_cast<double>(ns);
    merged.begin = std::min(merged.begin, op.begin);
    merged.calls.push_back(one.op);
    ++merged.count;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.order) < std::pair(b.begin, b.order);
  });
  NumberDuplicates(rows);
  return rows;
}

}  // namespace sonde::cluster
