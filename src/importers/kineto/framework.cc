// Kineto's facts about operators: scope, shapes, stacks, modules; ranges of the user.
#include <algorithm>
#include <map>
#include <string>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/kineto/trace.h"
#include "importers/trace_events/members.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

using trace_events::CapturedSet;
using trace_events::ForEachElement;
using trace_events::JsonValue;

std::string WithoutBlanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

constexpr std::string_view kDims = "Input Dims";

bool IsArray(std::string_view text) { return text.starts_with('[') && text.ends_with(']'); }

// [[2,3],[],[[4],[5]]] -> "2,3;;": sizes of tensors, nothing for the rest.
std::string ShapesOf(const std::string& dims) {
  std::string shapes;
  bool first = true;
  ForEachElement(dims, [&](const JsonValue& input) {
    if (!first) shapes += ';';
    first = false;
    const bool is_tensor = IsArray(input.text) && input.text.find('[', 1) == std::string_view::npos;
    if (is_tensor) shapes += input.text.substr(1, input.text.size() - 2);
  });
  return shapes;
}

std::string TypesOf(std::string_view types) {
  std::string out;
  bool first = true;
  ForEachElement(types, [&](const JsonValue& type) {
    if (!first) out += ';';
    first = false;
    if (type.is_string) out += type.Text();
  });
  return out;
}

// Numbers of signatures and stacks, by the texts that they come from.
class OpFacts {
 public:
  OpFacts(const KinetoTrace& trace, store::Transaction& transaction)
      : trace_(trace), transaction_(transaction) {}

  Status Open() {
    SONDE_ASSIGN_OR_RETURN(stacks_, store::TableWriter<store::CallstackRow>::Open(transaction_));
    return {};
  }

  int32_t Signature(const CapturedSet& arguments) {
    const auto dims = arguments.Get(kInputDims);
    const auto types = arguments.Get(kInputTypes);
    if (!dims && !types) return store::kNone;
    const auto [place, is_new] = signature_ids_.try_emplace(
        {dims.value_or(-1), types.value_or(-1)}, static_cast<int32_t>(signatures_.size()));
    if (is_new) AddSignature(place->second, dims.value_or(-1), types.value_or(-1));
    return place->second;
  }

  int32_t Stack(const CapturedSet& arguments) {
    const auto text = arguments.Get(kCallStack);
    if (!text) return store::kNone;
    const auto [place, is_new] = stack_ids_.try_emplace(*text, store::kNone);
    if (!is_new) return place->second;
    int32_t depth = 0;
    const std::string frames(trace_.NameOf(static_cast<int32_t>(*text)));
    for (const std::string_view frame : base::Split(frames, ';')) {
      if (base::Trim(frame).empty()) continue;
      if (depth == 0) place->second = next_stack_++;  // one without frames is none
      stacks_->Append({place->second, depth++, trace_.names().Intern(base::Trim(frame))});
    }
    return place->second;
  }

  Status Close() {
    SONDE_RETURN_IF_ERROR(stacks_->Close());
    SONDE_ASSIGN_OR_RETURN(auto writer,
                           store::TableWriter<store::OpSignatureRow>::Open(transaction_));
    for (const store::OpSignatureRow& row : signatures_) writer.Append(row);
    return writer.Close();
  }

 private:
  void AddSignature(int32_t id, int64_t dims_id, int64_t types_id) {
    store::OpSignatureRow row;
    row.signature_id = id;
    const std::string dims = WithoutBlanks(trace_.NameOf(static_cast<int32_t>(dims_id)));
    if (IsArray(dims) && base::JsonDocument::Parse(dims, kDims).ok()) {
      row.input_dims = trace_.names().Intern(dims);
      row.input_shapes = trace_.names().Intern(ShapesOf(dims));
    }
    const std::string types(trace_.NameOf(static_cast<int32_t>(types_id)));
    if (IsArray(types)) row.input_types = trace_.names().Intern(TypesOf(types));
    signatures_.push_back(row);
  }

  const KinetoTrace& trace_;
  store::Transaction& transaction_;
  std::map<std::pair<int64_t, int64_t>, int32_t> signature_ids_;
  std::vector<store::OpSignatureRow> signatures_;
  std::map<int64_t, int32_t> stack_ids_;
  int32_t next_stack_ = 0;
  std::optional<store::TableWriter<store::CallstackRow>> stacks_;
};

// The path of the innermost module that is open on the thread when a slice begins.
class Modules {
 public:
  explicit Modules(const KinetoTrace& trace)
      : trace_(trace), module_of_(base::SpillAllocator<int32_t>(trace.stage().pool())) {
    const trace_events::EventStage& stage = trace.stage();
    const auto& tracks = stage.tracks().tracks;
    if (std::none_of(tracks.begin(), tracks.end(),
                     [](const auto& track) { return track.lane == kModuleLane; })) {
      return;
    }
    base::SpillSteps steps(stage.pool());
    for (const int32_t id : stage.arrangement().preorder) {
      steps.Next();
      const trace_events::TrackEntry& track = stage.TrackOf(stage.Slice(id));
      if (track.lane == kModuleLane && track.thread >= 0) by_thread_[track.thread].push_back(id);
    }
    if (by_thread_.empty()) return;
    module_of_.assign(static_cast<size_t>(stage.slice_count()), store::kNone);
    for (const int32_t id : stage.arrangement().preorder) {
      steps.Next();
      Take(id);
    }
  }

  int32_t Of(int32_t slice_id) const {
    return module_of_.empty() ? store::kNone : module_of_[static_cast<size_t>(slice_id)];
  }

 private:
  // Slices of a track come in the order of begin.
  void Take(int32_t id) {
    const trace_events::EventStage& stage = trace_.stage();
    const trace_events::StagedSlice& slice = stage.Slice(id);
    const trace_events::TrackEntry& track = stage.TrackOf(slice);
    if (track.lane != kMainLane || track.thread < 0) return;
    if (track.thread != thread_) {
      const auto found = by_thread_.find(track.thread);
      modules_ = found == by_thread_.end() ? nullptr : &found->second;
      thread_ = track.thread;
      next_ = 0;
      open_.clear();
    }
    if (modules_ == nullptr) return;
    if (slice.ts < last_ts_) {  // slices that were moved aside come out of order
      next_ = 0;
      open_.clear();
    }
    last_ts_ = slice.ts;
    while (next_ < modules_->size() && stage.Slice((*modules_)[next_]).ts <= slice.ts) {
      open_.push_back((*modules_)[next_++]);
      PopEnded(stage.Slice(open_.back()).ts, true);
    }
    PopEnded(slice.ts, false);
    if (!open_.empty()) module_of_[static_cast<size_t>(id)] = Path(open_.back());
  }

  // With `keep_last` all but the innermost, which has just begun.
  void PopEnded(int64_t ts, bool keep_last) {
    const trace_events::EventStage& stage = trace_.stage();
    const int32_t last = open_.empty() ? store::kNone : open_.back();
    if (keep_last) open_.pop_back();
    while (!open_.empty() && stage.End(stage.Slice(open_.back())) <= ts) open_.pop_back();
    if (keep_last) open_.push_back(last);
  }

  int32_t Path(int32_t module) {
    const auto known = paths_.find(module);
    if (known != paths_.end()) return known->second;
    std::string_view name = trace_.NameAt(module);
    name.remove_prefix(std::min(name.size(), kModulePrefix.size()));
    const int32_t parent = trace_.stage().Parent(module);
    const int32_t path = parent < 0 ? trace_.names().Intern(name)
                                    : trace_.names().Intern(base::Concat(
                                          std::string(trace_.NameOf(Path(parent))), ".", name));
    paths_.emplace(module, path);
    return path;
  }

  const KinetoTrace& trace_;
  std::map<int32_t, std::vector<int32_t>> by_thread_;
  std::map<int32_t, int32_t> paths_;
  base::SpillVector<int32_t> module_of_;  // by slice_id
  int32_t thread_ = store::kNone;
  const std::vector<int32_t>* modules_ = nullptr;
  size_t next_ = 0;
  int64_t last_ts_ = INT64_MIN;
  std::vector<int32_t> open_;
};

}  // namespace

Status WriteFrameworkOps(const KinetoTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::FrameworkOpRow>::Open(transaction));
  OpFacts facts(trace, transaction);
  SONDE_RETURN_IF_ERROR(facts.Open());
  Modules modules(trace);
  const trace_events::EventStage& stage = trace.stage();
  const auto count = static_cast<int32_t>(stage.slice_count());
  base::SpillSteps steps(stage.pool());
  for (int32_t id = 0; id < count; ++id) {
    steps.Next();
    const SliceClass slice_class = trace.ClassAt(id);
    const bool is_module =
        slice_class == SliceClass::kPython && stage.TrackOf(stage.Slice(id)).lane == kModuleLane;
    if (slice_class != SliceClass::kOp && slice_class != SliceClass::kUserAnnotation &&
        !is_module) {
      continue;
    }
    const CapturedSet arguments = stage.CapturedOf(id);
    store::FrameworkOpRow row;
    row.slice_id = id;
    row.scope = capture::NumberOf(ScopeOf(trace.NameAt(id), slice_class));
    row.sequence_number = arguments.Get(kSequence).value_or(store::kNone);
    row.stack_id = facts.Stack(arguments);
    row.module = modules.Of(id);
    row.signature_id = facts.Signature(arguments);
    writer.Append(row);
  }
  SONDE_RETURN_IF_ERROR(facts.Close());
  return writer.Close();
}

Status WriteRanges(const KinetoTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::MarkRow>::Open(transaction));
  const trace_events::EventStage& stage = trace.stage();
  auto mark_id = static_cast<int32_t>(stage.instants().size());
  const auto count = static_cast<int32_t>(stage.slice_count());
  base::SpillSteps steps(stage.pool());
  for (int32_t id = 0; id < count; ++id) {
    steps.Next();
    const SliceClass slice_class = trace.ClassAt(id);
    if (slice_class != SliceClass::kUserAnnotation && slice_class != SliceClass::kMark) continue;
    const CapturedSet arguments = stage.CapturedOf(id);
    const auto kind = arguments.Get(kEventType);
    if (!kind) continue;
    const trace_events::StagedSlice& slice = stage.Slice(id);
    writer.Append({.mark_id = mark_id++,
                   .ts = slice.ts,
                   .dur = slice.dur,
                   .track_id = stage.arrangement().track_ids[static_cast<size_t>(slice.track)],
                   .domain = static_cast<int32_t>(
                       arguments.Get(kDomain).value_or(trace.names().Intern("default"))),
                   .message = slice.name,
                   .kind = static_cast<int32_t>(*kind),
                   .slice_id = id});
  }
  return writer.Close();
}

}  // namespace sonde::importers::kineto
