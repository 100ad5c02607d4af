#include "precision/kernels/kernel_join.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/kernels/gradient_graph.h"
#include "precision/kernels/gradient_join.h"
#include "precision/kernels/parameter_values.h"
#include "precision/kernels/run_values.h"
#include "precision/kernels/value_flow.h"
#include "precision/kernels/value_points.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr size_t kMostCells = 400'000'000;  // a byte each

// Adds the partners of those values of the dump that have none (-1): the most points in the order
// of both runs.
void AlignValues(const std::vector<RunValue>& dump, const std::vector<RunValue>& kernels,
                 std::vector<int64_t>* partners) {
  enum Step : uint8_t { kSkipKernel, kSkipDump, kPair };
  const size_t width = kernels.size() + 1;
  std::vector<uint8_t> steps((dump.size() + 1) * width, kSkipDump);
  std::vector<int> above(width, 0);
  std::vector<int> row(width, 0);
  std::vector<bool> taken(width, false);
  for (const int64_t partner : *partners) taken[static_cast<size_t>(partner + 1)] = partner >= 0;
  for (size_t d = 1; d <= dump.size(); ++d) {
    for (size_t k = 1; k < width; ++k) {
      const bool is_open = (*partners)[d - 1] < 0 && !taken[k];
      const int points = is_open ? PointsOf(dump[d - 1], kernels[k - 1]) : 0;
      const int paired = points >= kEnoughPoints ? above[k - 1] + points : -1;
      const int best = std::max({paired, above[k], row[k - 1]});
      row[k] = best;
      steps[d * width + k] = best == paired ? kPair : best == above[k] ? kSkipDump : kSkipKernel;
    }
    std::swap(above, row);
  }
  size_t k = kernels.size();
  for (size_t d = dump.size(); d > 0 && k > 0;) {
    const uint8_t step = steps[d * width + k];
    if (step != kSkipKernel) --d;
    if (step != kSkipDump) --k;
    if (step == kPair) (*partners)[d] = static_cast<int64_t>(k);
  }
}

std::set<std::string> PathsOf(const std::vector<RunValue>& values) {
  std::set<std::string> out;
  for (const RunValue& value : values) {
    out.insert(value.producers.begin(), value.producers.end());
    out.insert(value.consumers.begin(), value.consumers.end());
  }
  return out;
}

// The program's outer cells ("network.", "net.") are in the paths of one run alone where the other
// was recorded from an inner one: the beginning of `paths` behind which most of `inner` is found.
std::string OuterPath(const std::set<std::string>& paths, const std::set<std::string>& inner) {
  std::map<std::string, size_t> votes;
  for (const std::string& path : paths) {
    for (size_t at = 0; at != std::string::npos; at = path.find('.', at + 1)) {
      const size_t begin = at == 0 ? 0 : at + 1;
      if (inner.contains(path.substr(begin))) ++votes[path.substr(0, begin)];
    }
  }
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == votes.end() ? std::string() : best->first;
}

void RemoveOuter(const std::string& outer, std::vector<RunValue>* values) {
  if (outer.empty()) return;
  const auto strip = [&outer](std::set<std::string>* paths) {
    std::set<std::string> out;
    for (const std::string& path : *paths) {
      // The outer cell itself, and what is beside it, have no path in the other run.
      if (path.starts_with(outer)) out.insert(path.substr(outer.size()));
    }
    *paths = std::move(out);
  };
  for (RunValue& value : *values) {
    strip(&value.producers);
    strip(&value.consumers);
    strip(&value.results_of);
  }
}

const KernelTensor* TensorFor(const DumpRow& row, const std::vector<const KernelTensor*>& tensors,
                              bool any_shape) {
  const std::vector<int64_t> shape = ShapeOfRow(row);
  const KernelTensor* other = nullptr;
  for (const KernelTensor* tensor : tensors) {
    if (tensor->shape == shape) return tensor;
    const bool fits = CountElements(tensor->shape) == CountElements(shape);
    if (other == nullptr && fits) other = tensor;
  }
  return any_shape ? other : nullptr;
}

// Gives rows their partners among the tensors of one value; false: none has one of its shape.
bool GivePartners(const DumpFile& dump, const std::vector<uint32_t>& rows,
                  const std::vector<const KernelTensor*>& tensors, bool any_shape,
                  KernelJoin* join) {
  bool any = false;
  for (const uint32_t row : rows) {
    join->partners[row] = TensorFor(dump.rows()[row], tensors, any_shape);
    any |= join->partners[row] != nullptr;
  }
  return any;
}

// A parameter's row takes the kernels' tensor of that parameter, also where it shares its value
// with others in one run only, as a zero.
void GiveParameters(const DumpFile& dump, const ParameterTensors& parameters, bool any_shape,
                    KernelJoin* join) {
  for (size_t i = 0; i < dump.rows().size(); ++i) {
    const DumpRow& row = dump.rows()[i];
    if (row.section != Section::kParameters || !HasNumbers(row)) continue;
    const auto found = parameters.find(
        KernelParameter(NameOfParameter(row, dump.apis()[row.api].name), parameters));
    if (found == parameters.end()) continue;
    const KernelTensor* tensor = TensorFor(row, found->second, any_shape);
    if (tensor != nullptr) join->partners[i] = tensor;
  }
}

}  // namespace

Result<KernelJoin> JoinKernels(const KernelFlow& flow, const DumpFile& dump,
                               const ConstructFile& construct, bool any_shape) {
  RunValues of_dump = ValuesOfDump(dump, construct);
  SONDE_ASSIGN_OR_RETURN(const std::vector<GradientGraph> graphs, ReadGradientGraphs(flow));
  RunValues kernels = ValuesOfKernels(CallsInGraphOrder(flow, graphs));
  const size_t count = of_dump.values.size();
  if ((count + 1) * (kernels.values.size() + 1) > kMostCells) {
    return base::InvalidArgumentError(
        Concat(dump.path(), ": ", base::CountOf(count, "value"), " against ",
               std::to_string(kernels.values.size()),
               " of the kernels are too many to join (dump fewer cells, with 'scope' or 'list')"));
  }
  const std::set<std::string> dump_paths = PathsOf(of_dump.values);
  const std::set<std::string> kernel_paths = PathsOf(kernels.values);
  const std::string outer = OuterPath(kernel_paths, dump_paths);
  RemoveOuter(outer, &kernels.values);
  if (outer.empty()) RemoveOuter(OuterPath(dump_paths, kernel_paths), &of_dump.values);
  const ParameterTensors parameters = FindParameters(graphs);
  NameKernelValues(parameters, &kernels);
  NameDumpValues(dump, parameters, &of_dump);
  FindKnownOperators(kernels.values, &of_dump.values);
  std::vector<int64_t> partners = PairParameters(of_dump, kernels);
  AlignValues(of_dump.values, kernels.values, &partners);
  FollowFlow(of_dump, kernels, &partners);
  KernelJoin out;
  out.partners.resize(dump.rows().size());
  out.values = count;
  for (size_t d = 0; d < count; ++d) {
    if (partners[d] < 0) continue;
    const RunValue& partner = kernels.values[static_cast<size_t>(partners[d])];
    if (GivePartners(dump, of_dump.values[d].rows, partner.tensors, any_shape, &out)) {
      ++out.joined;
    }
  }
  GiveParameters(dump, parameters, any_shape, &out);
  const std::vector<JoinedGradient> gradients =
      JoinGradients(flow, graphs, parameters, kernels, dump, of_dump, partners);
  out.gradients = gradients.size();
  for (const JoinedGradient& gradient : gradients) {
    if (GivePartners(dump, gradient.rows, gradient.tensors, any_shape, &out)) {
      ++out.joined_gradients;
    }
  }
  return out;
}

}  // namespace sonde::precision
