#include "precision/kernels/kernel_flow.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "capture/mindspore_names.h"
#include "capture/mindspore_scope.h"
#include "precision/ir/ir_report.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_values.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::DirName;
using base::JoinPath;

using ScopesByName = std::unordered_map<std::string, std::string>;

// .../rank_0/<net>/<graph>/<step> -> .../rank_0/<before><graph><behind>
std::string PathBeside(const std::string& folder, std::string_view before,
                       std::string_view behind) {
  const std::string graph(DirName(folder));
  const std::string rank(DirName(DirName(graph)));
  return JoinPath(rank, Concat(before, base::BaseName(graph), behind));
}

std::string OrderPath(const std::string& folder) {
  return PathBeside(folder, "execution_order/ms_execution_order_graph_", ".csv");
}

std::string GraphPath(const std::string& folder) {
  return PathBeside(folder, "graphs/ms_output_trace_code_graph_", ".ir");
}

Status AddScopes(const std::string& folder, bool needed, ScopesByName* scopes) {
  const std::string path = OrderPath(folder);
  if (!base::PathExists(path)) {
    if (!needed) return Status::Ok();
    return base::NotFoundError(Concat(path, " is missing; it has the scopes of the kernels in ",
                                      folder,
                                      " (keep the whole rank folder that MindSpore wrote)"));
  }
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  bool is_header = true;
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::string_view scope = base::Trim(line);
    if (!scope.empty() && !is_header) scopes->emplace(DumpName(scope), scope);
    is_header = false;
  }
  return Status::Ok();
}

// "(2,3)" or "[2, 3]".
std::vector<int64_t> ShapeOfText(std::string_view text) {
  std::vector<int64_t> out;
  text = base::Trim(text);
  if (text.size() < 2) return out;
  for (const std::string_view part : base::Split(text.substr(1, text.size() - 2), ',')) {
    if (const auto length = base::ParseInt64(base::Trim(part))) out.push_back(*length);
  }
  return out;
}

// One record with its values; nullopt: without any, or unreadable with a `problem`.
std::optional<KernelTensor> KernelTensorOf(const KernelRecord& record, const KernelPlace& place,
                                           bool has_file, std::string* problem) {
  KernelTensor out;
  out.is_output = place.direction == "output";
  out.slot = base::ParseInt64(place.slot).value_or(0);
  if (!has_file) {
    out.dtype = base::ToLower(record.dtype);
    out.shape = ShapeOfText(record.shape);
    out.statistics = record.statistics;
    return out;
  }
  const Result<Tensor> tensor = OpenTensorFile(record.path);
  if (!tensor.ok()) {
    *problem = tensor.status().message();
    return std::nullopt;
  }
  const auto statistics = StatisticNumbersOf(*tensor);
  if (!statistics) return std::nullopt;
  out.dtype = DtypeName(tensor->dtype());
  out.shape = tensor->shape();
  out.statistics = *statistics;
  out.path = record.path;
  return out;
}

// Records of one kernel, in the order of time: a second record of a place begins its next run.
class CallMaker {
 public:
  CallMaker(const ScopesByName& scopes, bool needs_scopes, KernelFlow* flow)
      : scopes_(scopes), needs_scopes_(needs_scopes), flow_(flow) {
    for (const auto& [name, scope] : scopes) {
      unnumbered_.emplace(name.substr(0, DigitsAt(name)), scope.substr(0, DigitsAt(scope)));
    }
  }

  void Add(const KernelPlace& place, int64_t time, KernelTensor tensor) {
    std::string scope = ScopeOf(DumpName(place.name));
    if (scope.empty() && (needs_scopes_ || !scopes_.empty())) return;  // a parameter
    if (scope.empty()) scope = place.name;
    const std::string where = Concat(place.direction, ".", place.slot);
    const size_t run = runs_[Concat(scope, " ", where)]++;
    std::vector<size_t>& calls = calls_[scope];
    if (run >= calls.size()) {
      calls.push_back(flow_->calls.size());
      KernelCall& added = flow_->calls.emplace_back();
      SplitScope(scope, &added);
      added.time = time;
    }
    KernelCall& call = flow_->calls[calls[run]];
    call.time = std::min(call.time, time);
    call.tensors.push_back(std::move(tensor));
  }

 private:
  // Where the number at the end of a kernel's name begins: "Concat-op2".
  static size_t DigitsAt(const std::string& name) {
    return name.find_last_not_of("0123456789") + 1;
  }

  // Empty: none. MindSpore gives some kernels other numbers in the order of execution.
  std::string ScopeOf(const std::string& name) const {
    const auto found = scopes_.find(name);
    if (found != scopes_.end()) return found->second;
    const auto other = unnumbered_.find(name.substr(0, DigitsAt(name)));
    if (other == unnumbered_.end()) return {};
    return Concat(other->second, name.substr(DigitsAt(name)));
  }

  const ScopesByName& scopes_;
  ScopesByName unnumbered_;  // without the numbers at their ends
  const bool needs_scopes_;
  KernelFlow* flow_;
  std::unordered_map<std::string, size_t> runs_;
  std::unordered_map<std::string, std::vector<size_t>> calls_;
};

void SortFlow(KernelFlow* flow) {
  std::stable_sort(flow->calls.begin(), flow->calls.end(),
                   [](const KernelCall& a, const KernelCall& b) { return a.time < b.time; });
  for (KernelCall& call : flow->calls) {
    std::stable_sort(call.tensors.begin(), call.tensors.end(),
                     [](const KernelTensor& a, const KernelTensor& b) {
                       return std::pair(a.is_output, a.slot) < std::pair(b.is_output, b.slot);
                     });
  }
}

}  // namespace

void SplitScope(const std::string& scope, KernelCall* call) {
  call->scope = scope;
  call->name = scope.substr(scope.rfind('/') + 1);
  call->type = capture::MindsporeOperatorType(scope);
  const capture::MindsporeScope parsed = capture::ParseMindsporeScope(scope);
  call->is_backward = parsed.is_backward;
  call->has_cells = parsed.is_known;
  for (const capture::MindsporeScopeCell& cell : parsed.cells) {
    call->cells.push_back({std::string(cell.name), std::string(cell.cell_class)});
  }
}

Result<KernelFlow> ReadKernelFlow(const std::vector<std::string>& folders, bool needs_scopes) {
  SONDE_ASSIGN_OR_RETURN(KernelFolder folder, ReadKernelDump(folders));
  ScopesByName scopes;
  for (const std::string& each : folders) {
    SONDE_RETURN_IF_ERROR(AddScopes(each, needs_scopes, &scopes));
  }
  std::vector<std::string> graphs;
  for (const std::string& each : folders) {
    if (base::PathExists(GraphPath(each))) graphs.push_back(GraphPath(each));
  }
  std::stable_sort(folder.records.begin(), folder.records.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  KernelFlow flow;
  flow.tensors = folder.tensors;
  flow.graphs = std::move(graphs);
  std::vector<std::optional<KernelTensor>> tensors(folder.records.size());
  std::vector<std::string> problems(folder.records.size());
  base::ParallelFor(folder.records.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const KernelRecord& record = folder.records[i];
      tensors[i] = KernelTensorOf(record, PlaceOfRecord(record.name), folder.tensors, &problems[i]);
    }
  });
  CallMaker maker(scopes, needs_scopes, &flow);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!problems[i].empty() && flow.unreadable++ == 0) flow.first_unreadable = problems[i];
    if (!tensors[i]) continue;
    const KernelRecord& record = folder.records[i];
    maker.Add(PlaceOfRecord(record.name), record.time, std::move(*tensors[i]));
  }
  if (flow.calls.empty()) {
    return base::NotFoundError(
        Concat(folders.front(), ": none of its kernels is in ", OrderPath(folders.front())));
  }
  SortFlow(&flow);
  return flow;
}

}  // namespace sonde::precision
