#include "recipes/compiled_kernel/compiled_kernel.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"
#include "capture/args.h"
#include "capture/compiled_code.h"
#include "recipes/launch/launch.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

// The calls of one trace, each a row for its set of arguments.
class CompiledCalls {
 public:
  explicit CompiledCalls(const TraceData& data) : data_(data) {
    for (const store::ArgsTextRow& text : data.text_args) {
      if (data.Name(text.key) == capture::kKeyCall) sets_.insert(text.args_id);
    }
  }

  bool empty() const { return sets_.empty(); }

  // The slice itself or the one around it that is such a call; kNone: neither is.
  int32_t CallOf(int32_t slice_id) const {
    while (slice_id >= 0 && !sets_.contains(data_.Slice(slice_id).args_id)) {
      slice_id = data_.Slice(slice_id).parent_id;
    }
    return slice_id;
  }

  void Add(int32_t slice_id, int64_t ns) {
    CompiledKernelRow& row = RowOf(data_.Slice(slice_id));
    row.total_ns += ns;
    if (counted_.insert(slice_id).second) ++row.calls;
  }

  std::vector<CompiledKernelRow> TakeRows() { return std::move(rows_); }

 private:
  // Rows differ in call, kernel and module: the same line with other shapes is one.
  CompiledKernelRow& RowOf(const store::SliceRow& slice) {
    const auto [known, is_new_set] = row_of_set_.try_emplace({slice.args_id, slice.name}, 0);
    if (!is_new_set) return rows_[known->second];
    const auto text = [&](std::string_view key) { return data_.TextArgument(slice.args_id, key); };
    CompiledKernelRow row;
    row.call = text(capture::kKeyCall);
    row.kernel = data_.Name(slice.name);
    row.path = text(capture::kKeyCompiledModule);
    row.module_class = text("class");
    row.fused_with = text(capture::kKeyFusedWith);
    row.operators = text(capture::kKeyOperators);
    row.lines = text(capture::kKeyLines);
    row.output = text(capture::kKeyOutput);
    row.bytes = base::ParseInt64(text(capture::kKeyBytes)).value_or(-1);
    row.flops = base::ParseInt64(text(capture::kKeyFlops)).value_or(-1);
    const auto same = std::ranges::find_if(rows_, [&](const CompiledKernelRow& other) {
      return std::tie(other.call, other.kernel, other.path) ==
             std::tie(row.call, row.kernel, row.path);
    });
    known->second = static_cast<size_t>(same - rows_.begin());
    if (same == rows_.end()) rows_.push_back(row);
    return rows_[known->second];
  }

  struct PairHash {
    size_t operator()(const std::pair<int32_t, int32_t>& pair) const {
      return (static_cast<size_t>(static_cast<uint32_t>(pair.first)) << 32U) ^
             static_cast<uint32_t>(pair.second);
    }
  };
  const TraceData& data_;
  std::unordered_set<int32_t> sets_;
  std::unordered_set<int32_t> counted_;
  std::unordered_map<std::pair<int32_t, int32_t>, size_t, PairHash> row_of_set_;
  std::vector<CompiledKernelRow> rows_;
};

void RunCompiledKernel(const DeviceView& view, store::RowSink& rows) {
  for (const CompiledKernelRow& row : CompiledKernels(*view.data)) row.Write(rows);
}

}  // namespace

std::vector<CompiledKernelRow> CompiledKernels(const TraceData& data) {
  CompiledCalls calls(data);
  if (calls.empty()) return {};
  const Launches launches(data);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    int32_t call = calls.CallOf(launches.OperatorOf(i));
    if (call < 0) call = calls.CallOf(launches.CallOf(i));
    if (call >= 0) calls.Add(call, std::max<int64_t>(data.tasks[i].dur, 0));
  }
  std::vector<CompiledKernelRow> rows = calls.TakeRows();
  std::ranges::stable_sort(rows, [](const CompiledKernelRow& a, const CompiledKernelRow& b) {
    return std::tie(b.total_ns, a.call, a.kernel) < std::tie(a.total_ns, b.call, b.kernel);
  });
  return rows;
}

extern const Recipe kCompiledKernelRecipe;
constexpr Recipe kCompiledKernelRecipe = {
    &kCompiledKernel,
    Reads<store::SliceRow, store::FrameworkOpRow, store::DeviceTaskRow, store::ArgsTextRow,
          store::FlowRow>()
        .WithBounds(),
    &RunCompiledKernel};

}  // namespace sonde::recipes
