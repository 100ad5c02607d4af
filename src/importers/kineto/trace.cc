#include "importers/kineto/trace.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "store/launch_calls.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

bool EndsWithBackward(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward");
}

}  // namespace

capture::Scope ScopeOf(std::string_view name, SliceClass slice_class) {
  if (slice_class == SliceClass::kPython) return capture::Scope::kModule;
  if (name.starts_with(kStepPrefix)) return capture::Scope::kStep;
  if (name.starts_with("Optimizer.")) return capture::Scope::kOptimizer;
  if (name.starts_with("enumerate(DataLoader)")) return capture::Scope::kDataLoader;
  if (name.starts_with("Torch-Compiled Region")) return capture::Scope::kCompiledRegion;
  if (name == "record_param_comms") return capture::Scope::kCollective;
  if (slice_class == SliceClass::kUserAnnotation) return capture::Scope::kUserScope;
  if (name.starts_with("autograd::engine::")) return capture::Scope::kFrameworkRange;
  if (name.find("::") != std::string_view::npos) return capture::Scope::kOp;
  return EndsWithBackward(name) ? capture::Scope::kBackward : capture::Scope::kFrameworkRange;
}

KinetoTrace::KinetoTrace(trace_events::EventStage& stage)
    : stage_(stage), classes_(base::SpillAllocator<SliceClass>(stage.pool())) {
  FindScopes();
  Classify();
  OrderDeviceWork();
  if (device_work_.empty()) return;
  IndexLaunches();
  FindFirstLaunches();
}

void KinetoTrace::FindScopes() {
  std::map<uint64_t, size_t> numbers;
  for (const trace_events::ProcessEntry& process : stage_.tracks().processes) {
    const uint64_t scope = stage_.dialect().ScopeOf(process.pid);
    const auto [number, is_new] = numbers.try_emplace(scope, scopes_.size());
    if (is_new) scopes_.emplace_back(stage_.pool());
    scope_of_process_.push_back(number->second);
  }
}

void KinetoTrace::OrderDeviceWork() {
  const auto before = [&](int32_t a, int32_t b) { return stage_.Slice(a).ts < stage_.Slice(b).ts; };
  if (base::IsSorted(device_work_.begin(), device_work_.end(), stage_.pool(), before)) return;
  std::stable_sort(device_work_.begin(), device_work_.end(), before);
}

// One walk over all slices, which are not contiguous in memory.
void KinetoTrace::Classify() {
  std::vector<SliceClass> class_of_name(names().size(), SliceClass::kOther);
  std::vector<bool> is_step(names().size());
  std::vector<bool> is_launch(names().size());
  for (size_t id = 0; id < class_of_name.size(); ++id) {
    const std::string_view name = names().Text(static_cast<int32_t>(id));
    class_of_name[id] = ClassOf(name);
    is_step[id] = name.starts_with(kStepPrefix);
    is_launch[id] = store::IsLaunchCall(name);
  }
  const auto count = static_cast<int32_t>(stage_.slice_count());
  classes_.resize(static_cast<size_t>(count), SliceClass::kOther);
  base::SpillSteps steps(stage_.pool());
  for (int32_t id = 0; id < count; ++id) {
    steps.Next();
    const auto& slice = stage_.Slice(id);
    if (slice.category < 0) continue;
    const bool is_mark = stage_.TrackOf(slice).lane == kMarkLane;
    const SliceClass slice_class =
        is_mark ? SliceClass::kMark : class_of_name[static_cast<size_t>(slice.category)];
    classes_[static_cast<size_t>(id)] = slice_class;
    ++class_sizes_[static_cast<size_t>(slice_class)];
    if (IsDeviceWork(slice_class)) device_work_.push_back(id);
    if (slice_class == SliceClass::kRuntime && slice.name >= 0) {
      launch_calls_ += is_launch[static_cast<size_t>(slice.name)] ? 1 : 0;
    }
    const bool may_be_step =
        slice_class == SliceClass::kUserAnnotation || slice_class == SliceClass::kOp;
    if (may_be_step && slice.name >= 0 && is_step[static_cast<size_t>(slice.name)]) AddStep(id);
  }
  std::stable_sort(steps_.begin(), steps_.end(),
                   [](const StepRange& a, const StepRange& b) { return a.ts < b.ts; });
  for (const StepRange& step : steps_) scopes_[ScopeAt(step.slice_id)].steps.push_back(step);
}

int32_t KinetoTrace::OpAround(int32_t slice_id) const {
  while (slice_id >= 0 && ClassAt(slice_id) != SliceClass::kOp) slice_id = stage_.Parent(slice_id);
  return slice_id;
}

int32_t KinetoTrace::ProcessId(int32_t slice_id) const {
  const int32_t process = stage_.TrackOf(stage_.Slice(slice_id)).process;
  return stage_.arrangement().process_ids[static_cast<size_t>(process)];
}

void KinetoTrace::IndexLaunches() {
  const auto count = static_cast<int32_t>(stage_.slice_count());
  base::SpillSteps steps(stage_.pool());
  if (scopes_.size() == 1) {
    scopes_[0].op_by_external_id.Reserve(class_sizes_[static_cast<size_t>(SliceClass::kOp)]);
    scopes_[0].call_by_correlation.Reserve(class_sizes_[static_cast<size_t>(SliceClass::kRuntime)]);
  }
  for (int32_t id = 0; id < count; ++id) {
    steps.Next();
    const SliceClass slice_class = ClassAt(id);
    if (slice_class == SliceClass::kOp) {
      const auto arguments = stage_.CapturedOf(id);
      auto external = arguments.Get(kExternalId);
      if (!external) external = arguments.Get(kOldExternalId);
      if (external) scopes_[ScopeAt(id)].op_by_external_id.Add(*external, id);
    } else if (slice_class == SliceClass::kRuntime) {
      if (const auto number = stage_.Captured(id, kCorrelation)) {
        scopes_[ScopeAt(id)].call_by_correlation.Add(*number, id);
      }
      has_graph_launches_ |= NameAt(id).find("GraphLaunch") != std::string_view::npos;
    }
  }
  const auto owner = [this](int32_t id) { return stage_.TrackOf(stage_.Slice(id)).process; };
  for (Scope& scope : scopes_) {
    scope.op_by_external_id.Finish(owner);
    scope.call_by_correlation.Finish(owner);
  }
}

// In the scope of the work; where that is a device's alone, in all.
int32_t KinetoTrace::FindIn(NumberIndex Scope::* index, int32_t device_slice,
                            int64_t number) const {
  const Scope& own = scopes_[ScopeAt(device_slice)];
  if (own.has_host()) return (own.*index).Find(number);
  int32_t found = store::kNone;
  for (const Scope& scope : scopes_) {
    const int32_t slice = (scope.*index).Find(number);
    if (slice == store::kNone) continue;
    found = found == store::kNone ? slice : NumberIndex::kAmbiguous;
  }
  return found;
}

// The external id names the op. Older files give work that belongs to no op its own correlation
// number there, which may be the external id of some other op.
KinetoTrace::Launch KinetoTrace::LaunchOf(int32_t device_slice) const {
  const auto arguments = stage_.CapturedOf(device_slice);
  auto external = arguments.Get(kExternalId);
  if (!external) external = arguments.Get(kOldExternalId);
  const auto correlation = arguments.Get(kCorrelation);
  Launch launch;
  if (correlation) launch.call = FindIn(&Scope::call_by_correlation, device_slice, *correlation);
  if (external && external != correlation) {
    launch.op = FindIn(&Scope::op_by_external_id, device_slice, *external);
  }
  launch.is_ambiguous =
      launch.op == NumberIndex::kAmbiguous || launch.call == NumberIndex::kAmbiguous;
  if (launch.is_ambiguous) return {.is_ambiguous = true};
  if (launch.op < 0 && launch.call >= 0) launch.op = OpAround(launch.call);
  return launch;
}

void KinetoTrace::FindFirstLaunches() {
  first_launched_.assign(stage_.tracks().tracks.size(), INT64_MAX);
  base::SpillSteps steps(stage_.pool());
  for (const int32_t id : device_work_) {
    steps.Next();
    const trace_events::StagedSlice& slice = stage_.Slice(id);
    int64_t& first = first_launched_[static_cast<size_t>(slice.track)];
    if (first != INT64_MAX) continue;
    const Launch launch = LaunchOf(id);
    if (launch.call >= 0 || launch.op >= 0) first = slice.ts;
  }
}

void KinetoTrace::AddStep(int32_t slice_id) {
  const auto number = base::ParseInt64(NameAt(slice_id).substr(kStepPrefix.size()));
  const auto& slice = stage_.Slice(slice_id);
  if (number) steps_.push_back({slice.ts, stage_.End(slice), *number, slice_id});
}

int64_t KinetoTrace::StepAt(int32_t slice_id, int64_t ts) const {
  const std::vector<StepRange>& own = scopes_[ScopeAt(slice_id)].steps;
  const std::vector<StepRange>& steps = own.empty() ? steps_ : own;
  auto step = std::upper_bound(steps.begin(), steps.end(), ts,
                               [](int64_t t, const StepRange& s) { return t < s.ts; });
  if (step == steps.begin()) return store::kNone;
  --step;
  return ts < step->end ? step->number : store::kNone;
}

int64_t KinetoTrace::StepOfWork(int32_t device_slice, const Launch& launch) const {
  const int32_t host = launch.call >= 0 ? launch.call : launch.op;
  if (host >= 0) return StepAt(host, stage_.Slice(host).ts);
  const auto& slice = stage_.Slice(device_slice);
  const int64_t first = first_launched_[static_cast<size_t>(slice.track)];
  // A stream works in order: work before its first known launch was launched before the recording
  // began. Work of a graph has no call of its own.
  if (first != INT64_MAX && slice.ts < first && !has_graph_launches_) return store::kNone;
  return StepAt(device_slice, slice.ts);
}

Status WriteSteps(const KinetoTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::StepRow>::Open(transaction));
  for (const StepRange& step : trace.steps()) {
    writer.Append({.step_id = step.number,
                   .rank = trace.stage().rank(),
                   .process_id = trace.ProcessId(step.slice_id),
                   .slice_id = step.slice_id,
                   .ts = step.ts,
                   .dur = step.end - step.ts});
  }
  return writer.Close();
}

}  // namespace sonde::importers::kineto
