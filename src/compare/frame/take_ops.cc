#include "base/strings.h"
#include "compare/frame/name_predicate.h"
#include "compare/frame/side.h"
#include "compare/frame/sort_runs.h"

namespace sonde::compare {
namespace {

using recipes::TraceData;

bool IsStep(std::string_view name) { return name.find("ProfilerStep#") != std::string_view::npos; }

// Calls of a GPU's runtime stand in the tree as operators do: kernels hang below them.
bool IsGpuRuntime(std::string_view category) {
  return category == "cuda_runtime" || category == "runtime" || category == "cuda_driver";
}

// The frames of a stack from the outermost, as the profilers write them.
int32_t StackOf(const TraceData& data, int32_t stack_id, std::vector<int32_t>& known, Side& side) {
  if (stack_id < 0 || static_cast<size_t>(stack_id) + 1 >= data.stack_begin.size()) return kNone;
  if (known.size() <= static_cast<size_t>(stack_id)) {
    known.resize(static_cast<size_t>(stack_id) + 1, kNone);
  }
  int32_t& place = known[static_cast<size_t>(stack_id)];
  if (place != kNone) return place;
  std::vector<std::string_view> frames;
  for (size_t i = data.stack_begin[static_cast<size_t>(stack_id)];
       i < data.stack_begin[static_cast<size_t>(stack_id) + 1]; ++i) {
    frames.push_back(data.Name(data.frames[i].frame));
  }
  place = static_cast<int32_t>(side.stacks.size());
  side.stacks.push_back(base::Join(frames, ";\r\n"));
  return place;
}

void AddOps(const TraceData& data, Side& side) {
  std::vector<int32_t> known;
  NamePredicate steps(data.names, IsStep);
  side.ops.reserve(data.ops.size());
  for (const store::FrameworkOpRow& row : data.ops) {
    if (!recipes::IsOperator(row.scope)) continue;
    const store::SliceRow& slice = data.Slice(row.slice_id);
    if (!side.window.Has(slice.ts)) continue;
    Op op;
    op.name = slice.name;
    if (row.signature_id >= 0) {
      const auto& signature = data.signatures[static_cast<size_t>(row.signature_id)];
      op.shapes = signature.input_shapes;
      op.types = signature.input_types;
    }
    op.stack = StackOf(data, row.stack_id, known, side);
    op.thread = data.TrackOf(slice).thread_id;
    op.slice = slice.slice_id;
    op.begin_ns = slice.ts;
    op.end_ns = data.EndNs(slice);
    op.is_step = steps.Of(slice.name);
    side.ops.push_back(op);
  }
  if (side.kind != SideKind::kGpu) return;
  NamePredicate runtime(data.names, IsGpuRuntime);
  for (const store::SliceRow& slice : data.slices) {
    if (!runtime.Of(slice.category) || !side.window.Has(slice.ts)) continue;
    if (data.OpOf(slice.slice_id) >= 0) continue;  // is there already
    Op op;
    op.name = slice.name;
    op.thread = data.TrackOf(slice).thread_id;
    op.slice = slice.slice_id;
    op.begin_ns = slice.ts;
    op.end_ns = data.EndNs(slice);
    side.ops.push_back(op);
  }
}

void Nest(Side& side) {
  int32_t open = kNone;
  for (size_t i = 0; i < side.ops.size(); ++i) {
    Op& op = side.ops[i];
    while (open != kNone && side.OpAt(open).end_ns < op.begin_ns) open = side.OpAt(open).parent;
    const auto number = static_cast<int32_t>(i);
    op.parent = open;
    open = number;
    if (op.parent == kNone) {
      side.roots.push_back(number);
      continue;
    }
    Op& parent = side.ops[static_cast<size_t>(op.parent)];
    if (parent.last_child == kNone) {
      parent.first_child = number;
    } else {
      side.ops[static_cast<size_t>(parent.last_child)].next_sibling = number;
    }
    parent.last_child = number;
  }
}

}  // namespace

void TakeOps(const TraceData& data, Side& side) {
  AddOps(data, side);
  // Of several that begin together the one that encloses the others comes first.
  SortRuns(side.ops, [](const Op& a, const Op& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  Nest(side);
}

}  // namespace sonde::compare
