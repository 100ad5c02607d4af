// Parts of our Kineto traces in addition to operators and kernels: calls of the host's interface,
// queues between threads, marks, collections of garbage, planes of communication, counters.
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/counter_lanes.h"
#include "exporters/format/framework_rows.h"
#include "exporters/format/rest_slices.h"
#include "exporters/kineto/kineto_events.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using recipes::DeviceView;
using recipes::TraceData;

constexpr size_t kCountersPerPiece = 4096;
// Rows of devices that are no streams come behind those.
constexpr int64_t kFirstOtherRow = 1'000'000;

struct RestRow {
  int64_t pid = 0;
  int64_t tid = 0;
};

class RestWriter {
 public:
  RestWriter(const DeviceView& view, const KinetoImported& imported, int64_t base_ns,
             LineBuffer& out)
      : view_(view),
        data_(*view.data),
        imported_(imported),
        rows_(data_),
        base_ns_(base_ns),
        out_(out) {}

  void Slices() {
    FindWork();
    for (const int32_t id : imported_.rest) {
      const store::SliceRow& slice = data_.Slice(id);
      Append(slice, data_.Name(slice.category), Arguments(slice));
      const auto [work, end] = work_.equal_range(id);
      if (work == end) continue;
      AppendEnd('s', work->second.correlation, RowOf(slice), slice.ts);
      // A graph that was launched has many kernels.
      for (auto one = work; one != end; ++one) {
        AppendEnd('f', one->second.correlation, one->second.row, one->second.ts_ns);
      }
    }
    DeviceRanges();
    for (const store::ApiCallRow& call : data_.api_calls) {
      Append(data_.Slice(call.slice_id), "privateuse1_runtime",
             Concat(R"({"level":)", base::JsonQuote(data_.Name(call.level)), R"(,"connection_id":)",
                    std::to_string(call.connection_id), "}"));
    }
    for (const int32_t id : data_.SlicesOfKinds({recipes::TrackKind::kGarbageCollection}))
      Append(data_.Slice(id), "gc", "{}");
    // Those of captures are annotations already.
    for (const store::MarkRow& mark : data_.marks) {
      if (mark.slice_id < 0 || data_.OpOf(mark.slice_id) < 0) AppendMark(mark);
    }
  }

 private:
  struct Work {
    int64_t correlation = 0;
    int32_t launch = store::kNone;  // slice of the operator
    RestRow row;
    int64_t ts_ns = 0;
  };

  void AppendMark(const store::MarkRow& mark) {
    const std::string_view message = data_.Name(mark.message);
    const std::string_view domain = data_.Name(mark.domain);
    if (message == kIterationStart || message == kRecordWindowEnd) return;  // those of the frame
    const RestRow row =
        mark.track_id < 0 ? RestRow{} : RowOf(data_.tracks[static_cast<size_t>(mark.track_id)]);
    if (data_.Name(mark.kind) == "marker") {
      out_.Append(Concat(",\n", R"({"ph":"i","s":"t","name":)", base::JsonQuote(message)));
      if (domain != "default") out_.Append(Concat(R"(,"cat":)", base::JsonQuote(domain)));
      AppendPlace(row, mark.ts);
      return out_.Append("}");
    }
    // The recorder's own data about an operator is no annotation of the program.
    const std::string_view category = domain == "mfu_flops" ? "flops" : "user_annotation";
    AppendRange(row, {category, message},
                {mark.ts, mark.dur < 0 ? data_.last_ns - mark.ts : mark.dur},
                Concat("{", MarkArguments(data_, mark), "}"));
  }

  // Ranges of the program as the profiler projected them on the device.
  void DeviceRanges() {
    for (const int32_t id : data_.SlicesOfKinds({recipes::TrackKind::kSpan})) {
      const store::SliceRow& slice = data_.Slice(id);
      if (data_.Name(slice.category) == "gpu_user_annotation") {
        const store::TrackRow& track = data_.TrackOf(slice);
        AppendAt({track.device_id, track.stream_id + 1}, slice, "gpu_user_annotation", "{}");
      }
    }
  }

  // Work started by the calls of a runtime.
  void FindWork() {
    if (!imported_.has_runtime) return;
    std::unordered_map<int32_t, Work> of_slice;
    for (const store::DeviceTaskRow& task : data_.tasks) {
      of_slice.emplace(task.slice_id,
                       Work{view_.ConnectionOf(task),
                            task.launch_slice_id,
                            {view_.DeviceOfTask(task).device_id, view_.StreamOf(task) + 1},
                            task.ts});
    }
    for (const store::FlowRow& flow : data_.flows) {
      if (data_.Name(flow.kind) != "host_to_device") continue;
      const auto work = of_slice.find(flow.slice_in);
      if (work != of_slice.end()) work_.emplace(flow.slice_out, work->second);
    }
  }

  std::string Arguments(const store::SliceRow& slice) {
    const auto work = work_.find(slice.slice_id);
    if (work == work_.end()) return imported_.arguments.Json(slice.slice_id);
    std::string text = Concat(R"({"correlation":)", std::to_string(work->second.correlation));
    if (work->second.launch >= 0) {
      text += Concat(R"(,"External id":)", std::to_string(int64_t{work->second.launch} + 1));
    }
    return text + "}";
  }

  RestRow RowOf(const store::SliceRow& slice) { return RowOf(data_.TrackOf(slice)); }

  // On the row of the thread, or one of its own.
  RestRow RowOf(const store::TrackRow& track) {
    if (track.thread_id >= 0) {
      return {data_.PidOf(track.process_id), rows_.OfTrack(track.track_id)};
    }
    const RestRow row{track.device_id >= 0 ? track.device_id : data_.PidOf(track.process_id),
                      kFirstOtherRow + track.track_id};
    if (named_.insert(row.tid).second) {
      out_.Append(Concat(",\n", R"({"ph":"M","name":"thread_name","pid":)", std::to_string(row.pid),
                         R"(,"tid":)", std::to_string(row.tid), R"(,"args":{"name":)",
                         base::JsonQuote(data_.Name(track.name)), "}}"));
    }
    return row;
  }

  void Append(const store::SliceRow& slice, std::string_view category,
              const std::string& arguments) {
    AppendAt(RowOf(slice), slice, category, arguments);
  }

  void AppendAt(const RestRow& row, const store::SliceRow& slice, std::string_view category,
                const std::string& arguments) {
    AppendRange(row, {category.empty() ? "other" : category, data_.Name(slice.name)},
                {slice.ts, data_.DurationNs(slice)}, arguments);
  }

  struct Label {
    std::string_view category;
    std::string_view name;
  };
  struct Span {
    int64_t ts;
    int64_t dur;
  };
  void AppendRange(const RestRow& row, const Label& label, const Span& span,
                   const std::string& arguments) {
    out_.Append(Concat(",\n", R"({"ph":"X","cat":)", base::JsonQuote(label.category), R"(,"name":)",
                       base::JsonQuote(label.name)));
    AppendPlace(row, span.ts);
    out_.Append(R"(,"dur":)");
    out_.Microseconds(span.dur);
    out_.Append(R"(,"args":)");
    out_.Append(arguments);
    out_.Append("}");
  }

  void AppendPlace(const RestRow& row, int64_t ts_ns) {
    out_.Append(Concat(R"(,"pid":)", std::to_string(row.pid), R"(,"tid":)", std::to_string(row.tid),
                       R"(,"ts":)"));
    out_.Microseconds(ts_ns - base_ns_);
  }

  void AppendEnd(char phase, int64_t id, const RestRow& row, int64_t ts_ns) {
    out_.Append(
        Concat(",\n", R"({"ph":")", std::string(1, phase), R"(","id":)", std::to_string(id)));
    AppendPlace(row, ts_ns);
    out_.Append(phase == 's' ? R"(,"cat":"ac2g","name":"ac2g"})"
                             : R"(,"cat":"ac2g","name":"ac2g","bp":"e"})");
  }

  const DeviceView& view_;
  const TraceData& data_;
  const KinetoImported& imported_;
  FrameworkRows rows_;
  int64_t base_ns_;
  LineBuffer& out_;
  std::unordered_multimap<int32_t, Work> work_;  // by the slice of the call
  std::set<int64_t> named_;
};

void AppendKinetoCounters(const TraceData& data, const CounterLanes& lanes, int64_t base_ns,
                          size_t begin, size_t end, LineBuffer& out) {
  for (size_t i = begin; i < end; ++i) {
    const store::CounterRow& counter = data.counters[i];
    const CounterLanes::Lane& lane = lanes.Of(counter);
    out.Append(Concat(",\n", R"({"ph":"C","name":)", lane.name, R"(,"pid":)",
                      std::to_string(lane.pid), R"(,"ts":)"));
    out.Microseconds(counter.ts - base_ns);
    out.Append(R"(,"args":)");
    AppendCounterValue(lane, counter.value, out);
    out.Append("}");
  }
}

void AppendKinetoCounterProcesses(const CounterLanes& lanes, LineBuffer& out) {
  for (const CounterLanes::Process& process : lanes.processes()) {
    const std::string begin =
        Concat(",\n", R"({"ph":"M","pid":)", std::to_string(process.pid), R"(,"tid":0,"name":")");
    out.Append(Concat(begin, R"(process_name","args":{"name":)", base::JsonQuote(process.name),
                      "}}", begin, R"(process_labels","args":{"labels":")",
                      process.is_device ? Concat("NPU ", std::to_string(process.device)) : "CPU",
                      R"("}})", begin, R"(process_sort_index","args":{"sort_index":)",
                      std::to_string(process.sort_index), "}}"));
  }
}

}  // namespace

std::string MarkArguments(const TraceData& data, const store::MarkRow& mark) {
  return Concat(R"("event_type":)", base::JsonQuote(data.Name(mark.kind)), R"(,"domain":)",
                base::JsonQuote(data.Name(mark.domain)));
}

Result<KinetoImported> KinetoImported::Load(const ExportContext& context) {
  const TraceData& data = context.data();
  KinetoImported imported;
  imported.rest = RestSlices(context.view);
  // Tasks on a plane are written there, not as tasks of their stream.
  for (const int32_t id : data.SlicesOfKinds({recipes::TrackKind::kCommunicationPlane})) {
    imported.on_planes.insert(id);
  }
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (imported.on_planes.contains(task.slice_id)) imported.rest.push_back(task.slice_id);
  }
  if (imported.rest.empty()) return imported;
  SONDE_ASSIGN_OR_RETURN(
      imported.arguments,
      SliceArguments::Load(context.store, {"communication_plane", "thread", "device_layer",
                                           "os_runtime", "stream", "communication_group"}));
  for (const int32_t id : imported.rest) {
    imported.has_runtime |= IsRuntimeCall(data, data.Slice(id));
  }
  return imported;
}

void AddKinetoRest(const ExportContext& context, const KinetoImported& imported, int64_t base_ns,
                   TracePieces& pieces) {
  const DeviceView& view = context.view;
  const TraceData& data = *view.data;
  pieces.Add([&view, &imported, base_ns](LineBuffer& out) {
    RestWriter(view, imported, base_ns, out).Slices();
  });
  if (data.counters.empty()) return;
  const auto lanes = std::make_shared<const CounterLanes>(data);
  pieces.Add([lanes](LineBuffer& out) { AppendKinetoCounterProcesses(*lanes, out); });
  pieces.AddRanges(data.counters.size(), kCountersPerPiece,
                   [&data, lanes, base_ns](size_t begin, size_t end, LineBuffer& out) {
                     AppendKinetoCounters(data, *lanes, base_ns, begin, end, out);
                   });
}

}  // namespace sonde::exporters
