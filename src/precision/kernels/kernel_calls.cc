#include "precision/kernels/kernel_calls.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/dump_folder.h"
#include "precision/dump/entry_json.h"
#include "precision/kernels/kernel_join.h"
#include "precision/kernels/kernel_values.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

constexpr std::string_view kTensorFolder = "dump_tensor_data";

std::string NumberJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return base::PythonDoubleText(value);
}

// As dumps of MindSpore have it, "BFloat16", or in the form of `like`, the partner's.
std::string DtypeText(const std::string& dtype, std::string_view like) {
  if (like.starts_with("torch.")) return Concat("torch.", dtype);
  std::string out = dtype;
  for (const size_t at : {size_t{0}, size_t{1}}) {
    const bool capital = at == 0 || (out[0] == 'B' && out.starts_with("Bf")) ||
                         (out[0] == 'U' && out.starts_with("Ui"));
    if (capital && at < out.size() && out[at] >= 'a' && out[at] <= 'z') {
      out[at] = static_cast<char>(out[at] - 'a' + 'A');
    }
  }
  return out;
}

// Dumps of calls have means and norms as 32 bit floats, and so the squares that a norm sums up.
double AsDumped(const KernelTensor& tensor, size_t statistic) {
  const double value = tensor.statistics[statistic];
  if (statistic < 2) return value;
  const bool overflows = statistic == 3 && value > std::sqrt(std::numeric_limits<float>::max());
  return overflows ? std::numeric_limits<double>::infinity()
                   : static_cast<double>(static_cast<float>(value));
}

std::string RecordJson(const KernelTensor& tensor, std::string_view shape, std::string_view dtype,
                       std::string_view requires_grad, std::string_view data_name) {
  std::string out = Concat("{\"type\": \"mindspore.Tensor\", \"dtype\": ", QuotedJson(dtype),
                           ", \"shape\": ", shape);
  static constexpr std::string_view kNames[] = {"Max", "Min", "Mean", "Norm"};
  for (size_t i = 0; i < tensor.statistics.size(); ++i) {
    out += Concat(", \"", kNames[i], "\": ", NumberJson(AsDumped(tensor, i)));
  }
  if (!requires_grad.empty()) out += Concat(", \"requires_grad\": ", base::ToLower(requires_grad));
  if (!data_name.empty()) out += Concat(", \"data_name\": ", QuotedJson(data_name));
  return out + "}";
}

Status LinkFile(const std::string& to, const std::string& path) {
  if (symlink(base::AbsolutePath(to).c_str(), path.c_str()) == 0) return Status::Ok();
  return base::ErrnoStatus(errno, "link", path);
}

// A dump that is being written.
class CallsFolder {
 public:
  CallsFolder(std::string folder, std::string_view task, std::string_view level,
              std::string_view framework)
      : folder_(std::move(folder)), is_tensors_(task == "tensor") {
    head_ = Concat("{\"task\": ", QuotedJson(task), ", \"level\": ", QuotedJson(level),
                   ", \"framework\": ", QuotedJson(framework), ", \"dump_data_dir\": ");
  }

  void Add(std::string_view name, const EntryJson& entry) {
    entries_ += Concat(entries_.empty() ? "\n" : ",\n", QuotedJson(name), ": ", entry.Json(""));
  }
  void AddTensor(std::string data_name, const std::string& path) {
    links_.emplace_back(std::move(data_name), path);
  }
  // Everything but the tensors of a folder of its own, which `tensor_folder` names.
  Status Write(const std::string& construct, const std::string& stack,
               const std::string& tensor_folder = "") {
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder_));
    const std::string tensors = JoinPath(folder_, kTensorFolder);
    if (is_tensors_ && !tensor_folder.empty()) {
      SONDE_RETURN_IF_ERROR(LinkFile(tensor_folder, tensors));
    } else if (is_tensors_) {
      SONDE_RETURN_IF_ERROR(base::MakeDirectories(tensors));
      for (const auto& [name, path] : links_) {
        SONDE_RETURN_IF_ERROR(LinkFile(path, JoinPath(tensors, name)));
      }
    }
    const auto write = [this](std::string_view name, const std::string& text) {
      return base::WriteFileAtomically(JoinPath(folder_, name), text);
    };
    // The folder still gets its final name: a reader looks for the tensors next to dump.json.
    const std::string data_dir = is_tensors_ ? QuotedJson(kTensorFolder) : std::string("null");
    SONDE_RETURN_IF_ERROR(
        write("dump.json", Concat(head_, data_dir, ", \"data\": {", entries_, "\n}}\n")));
    if (!stack.empty()) SONDE_RETURN_IF_ERROR(write("stack.json", stack));
    return construct.empty() ? Status::Ok() : write("construct.json", construct);
  }

 private:
  std::string folder_;
  bool is_tensors_;
  std::string head_;
  std::string entries_;
  std::vector<std::pair<std::string, std::string>> links_;
};

// construct.json of the cells in scopes.
class ScopeTree {
 public:
  // The innermost cell of a call, added with those around it; empty: none.
  std::string CellOf(const KernelCall& call) {
    std::string path;
    std::string parent;
    for (const ScopeCell& cell : call.cells) {
      path += Concat(path.empty() ? "" : ".", cell.name);
      const std::string name =
          Concat("Cell.", path, ".", cell.type, call.is_backward ? ".backward.0" : ".forward.0");
      Add(name, parent);
      parent = name;
    }
    return parent;
  }
  void Add(const std::string& name, const std::string& parent) {
    if (!seen_.insert(name).second) return;
    text_ += Concat(text_.empty() ? "\n" : ",\n", QuotedJson(name), ": ",
                    parent.empty() ? std::string("null") : QuotedJson(parent));
  }
  std::string Json() const { return Concat("{", text_, "\n}\n"); }

 private:
  std::unordered_set<std::string> seen_;
  std::string text_;
};

std::string KernelCallName(const KernelCall& call, std::unordered_map<std::string, int64_t>* runs) {
  std::string path;
  for (const ScopeCell& cell : call.cells) path += Concat(cell.name, ".");
  const int64_t run = (*runs)[call.scope]++;
  return Concat("Primitive.", path, call.name, ".", std::to_string(run),
                call.is_backward ? ".backward" : ".forward");
}

Result<std::string> ReadIfPresent(const std::string& folder, std::string_view name) {
  const std::string path = JoinPath(folder, name);
  if (!base::PathExists(path)) return std::string();
  return base::ReadFile(path);
}

// The row's record for the kernels' side; a link where tensors are compared.
std::string PartnerJson(const KernelTensor& tensor, const DumpRow& row, bool is_tensors,
                        CallsFolder* kernels) {
  std::string_view data_name = is_tensors ? row.data_name : std::string_view();
  if (data_name.find('/') != std::string_view::npos) data_name = {};
  if (!data_name.empty()) kernels->AddTensor(std::string(data_name), tensor.path);
  return RecordJson(tensor, row.shape, DtypeText(tensor.dtype, row.dtype), row.requires_grad,
                    data_name);
}

// Adds the calls of which a value is known on either side.
void AddJoined(const DumpFile& dump, const KernelJoin& join, bool is_tensors, CallsFolder* kernels,
               CallsFolder* calls) {
  for (const DumpApi& api : dump.apis()) {
    const auto begin = join.partners.begin() + api.first_row;
    const auto end = begin + api.row_count;
    if (std::all_of(begin, end, [](const KernelTensor* each) { return each == nullptr; })) continue;
    EntryJson of_kernels(api.name);
    EntryJson of_calls(api.name);
    std::deque<std::string> texts;
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      const DumpRow& row = dump.rows()[i];
      const std::string_view key = row.name.substr(std::min(api.name.size() + 1, row.name.size()));
      const KernelTensor* partner = join.partners[i];
      const bool is_left_out = row.kind == LeafKind::kTensor && partner == nullptr;
      const std::string_view raw = is_left_out ? std::string_view("null") : row.raw;
      of_calls.Add(row.section, key, raw);
      if (partner != nullptr) texts.push_back(PartnerJson(*partner, row, is_tensors, kernels));
      of_kernels.Add(row.section, key, partner == nullptr ? raw : texts.back());
    }
    kernels->Add(api.name, of_kernels);
    calls->Add(api.name, of_calls);
  }
}

std::string JoinNote(const std::string& path, const KernelJoin& join, const KernelFlow& flow) {
  std::string gradients;
  if (join.gradients > 0) {
    gradients = Concat(", and ", std::to_string(join.joined_gradients), " of ",
                       base::CountOf(join.gradients, "gradient"));
    if (flow.graphs.empty()) {
      gradients +=
          " (the graph that MindSpore writes beside the dump, rank_<N>/graphs, is missing)";
    }
  }
  const bool all = join.joined == join.values && join.joined_gradients == join.gradients;
  const std::string_view others =
      all ? "" : "; the others are fused, renamed or not computed in the graph, and are left out";
  return Concat(path, ": ", std::to_string(join.joined), " of ",
                base::CountOf(join.values, "value is", "values are"), " joined with ",
                base::CountOf(flow.calls.size(), "kernel"), gradients, others);
}

}  // namespace

Status WriteKernelCalls(const KernelFlow& flow, const std::string& folder) {
  CallsFolder out(folder, flow.tensors ? "tensor" : "statistics", "mix", "mindspore");
  ScopeTree tree;
  std::unordered_map<std::string, int64_t> runs;
  for (const KernelCall& call : flow.calls) {
    const std::string name = KernelCallName(call, &runs);
    tree.Add(name, tree.CellOf(call));
    EntryJson entry(name);
    std::deque<std::string> texts;
    int64_t next[2] = {0, 0};  // of inputs and outputs
    for (const KernelTensor& tensor : call.tensors) {
      const std::string_view direction = tensor.is_output ? "output" : "input";
      const Section section = tensor.is_output ? Section::kOutput : Section::kInput;
      // Empty tensors are not dumped; those behind them keep their numbers.
      for (int64_t& slot = next[tensor.is_output ? 1 : 0]; slot <= tensor.slot; ++slot) {
        const std::string& key = texts.emplace_back(Concat(direction, ".", std::to_string(slot)));
        if (slot < tensor.slot) {
          entry.Add(section, key, "null");
          continue;
        }
        std::string data_name;
        if (flow.tensors) data_name = Concat(name, ".", key, ".npy");
        if (flow.tensors) out.AddTensor(data_name, tensor.path);
        entry.Add(section, key,
                  texts.emplace_back(RecordJson(tensor, ShapeText(tensor.shape),
                                                DtypeText(tensor.dtype, ""), "", data_name)));
      }
    }
    out.Add(name, entry);
  }
  return out.Write(tree.Json(), "");
}

Status WriteJoinedCalls(const KernelFlow& flow, const std::string& dump_folder,
                        const std::string& folder, const std::string& other_folder,
                        std::vector<std::string>* notes) {
  SONDE_ASSIGN_OR_RETURN(const DumpFolder dump,
                         LoadDumpFolder(JoinPath(dump_folder, "dump.json"), "", notes));
  if (dump.dump->has_md5()) {
    return base::InvalidArgumentError(
        Concat(dump.dump->path(),
               " holds checksums, which kernels do not have; dump with "
               "summary_mode statistics, or tensors"));
  }
  const bool is_tensors = flow.tensors && dump.dump->task() == "tensor";
  SONDE_ASSIGN_OR_RETURN(const KernelJoin join, JoinKernels(flow, *dump.dump, *dump.construct,
                                                            /*any_shape=*/!is_tensors));
  if (join.joined == 0) {
    return base::NotFoundError(
        Concat("no value of ", dump.dump->path(), " is found among the ",
               base::CountOf(flow.calls.size(), "kernel"),
               ": both must be of the same program, and construct.json must be there"));
  }
  notes->push_back(JoinNote(dump.dump->path(), join, flow));
  const std::string_view task = is_tensors ? "tensor" : "statistics";
  const DumpFile& file = *dump.dump;
  CallsFolder kernels(folder, task, file.level(), file.framework());
  CallsFolder calls(other_folder, task, file.level(), file.framework());
  AddJoined(file, join, is_tensors, &kernels, &calls);
  SONDE_ASSIGN_OR_RETURN(const std::string construct, ReadIfPresent(dump_folder, "construct.json"));
  SONDE_ASSIGN_OR_RETURN(const std::string stack, ReadIfPresent(dump_folder, "stack.json"));
  SONDE_RETURN_IF_ERROR(kernels.Write(construct, stack));
  return calls.Write(construct, stack, JoinPath(dump_folder, kTensorFolder));
}

}  // namespace sonde::precision
