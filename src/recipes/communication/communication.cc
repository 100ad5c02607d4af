#include "recipes/communication/communication.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/strings.h"
#include "recipes/communication/naming.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

double Ratio(int64_t part_ns, int64_t transit_ns) {
  const int64_t whole_ns = part_ns + transit_ns;
  if (whole_ns == 0) return 0;
  return RoundTo4(static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

CommunicationTimes TimesOf(const DeviceView& view, size_t index) {
  const store::CommunicationOpRow& op = view.data->communications[index];
  CommunicationTimes times;
  times.elapse_ns = view.EndNs(op) - op.ts;
  if (op.transit_ns >= 0 || op.wait_ns >= 0) {
    times.transit_ns = std::max<int64_t>(op.transit_ns, 0);
    times.wait_ns = std::max<int64_t>(op.wait_ns, 0);
    times.synchronization_ns = std::max<int64_t>(op.synchronization_ns, 0);
  } else if (index < view.waits_ns.size() && view.waits_ns[index] >= 0) {
    times.wait_ns = times.synchronization_ns = std::min(view.waits_ns[index], times.elapse_ns);
    times.transit_ns = times.elapse_ns - times.wait_ns;
  } else if (HcomKind(view.data->Name(op.op_type)) == "barrier") {
    times.wait_ns = times.synchronization_ns = times.elapse_ns;
  } else {
    times.transit_ns = times.elapse_ns;
  }
  times.idle_ns = times.elapse_ns - times.transit_ns - times.wait_ns;
  return times;
}

// Traffic to other ranks by transport; times add up. What goes over the links inside a machine is
// counted under SDMA too, whose sizes are those of its own transfers only.
std::map<Transport, TransportTraffic> MeasuredTraffic(
    const TraceData& data, std::span<const store::CommunicationTransitRow> transfers) {
  std::map<Transport, TransportTraffic> traffic;
  for (const store::CommunicationTransitRow& row : transfers) {
    const Transport transport = TransportOf(data.Name(row.transport));
    if (transport == Transport::kLocal || row.packet_count <= 0) continue;
    TransportTraffic part;
    part.size_bytes = row.size_bytes;
    part.time_ns = row.duration_ns;
    part.sizes[row.size_bytes / row.packet_count] = {row.packet_count, row.duration_ns};
    traffic[transport] += part;
    const bool is_inside = transport == Transport::kHccs || transport == Transport::kPcie ||
                           transport == Transport::kSio;
    if (is_inside) {
      part.sizes.clear();
      traffic[Transport::kSdma] += part;
    }
  }
  return traffic;
}

// Over RDMA and SDMA: to other ranks.
int64_t SentBytes(const std::map<Transport, TransportTraffic>& traffic) {
  int64_t size_bytes = 0;
  for (const Transport transport : {Transport::kRdma, Transport::kSdma}) {
    const auto found = traffic.find(transport);
    if (found != traffic.end()) size_bytes += found->second.size_bytes;
  }
  return size_bytes;
}

// The step of each operation; nullopt: outside all steps.
class StepFinder {
 public:
  explicit StepFinder(const TraceData& data) : data_(data) {}

  // Index of the step, kAll where there are none.
  std::optional<size_t> Of(int64_t start_ns) const {
    const auto& steps = data_.steps;
    if (steps.size() <= 1) return 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const int64_t end_ns = steps[i].dur < 0 ? data_.last_ns : steps[i].ts + steps[i].dur;
      if (start_ns >= steps[i].ts && start_ns <= end_ns) return i;
    }
    return std::nullopt;
  }

 private:
  const TraceData& data_;
};

}  // namespace

double RoundTo4(double value) { return std::nearbyint(value * 1e4) / 1e4; }

double BandwidthGbPerS(int64_t size_bytes, int64_t time_ns) {
  if (time_ns == 0) return 0;
  return RoundTo4(static_cast<double>(size_bytes) / static_cast<double>(time_ns));
}

double CommunicationTimes::WaitRatio() const { return Ratio(wait_ns, transit_ns); }
double CommunicationTimes::SynchronizationRatio() const {
  return Ratio(synchronization_ns, transit_ns);
}

CommunicationTimes& CommunicationTimes::operator+=(const CommunicationTimes& other) {
  elapse_ns += other.elapse_ns;
  transit_ns += other.transit_ns;
  wait_ns += other.wait_ns;
  synchronization_ns += other.synchronization_ns;
  idle_ns += other.idle_ns;
  return *this;
}

TransportTraffic& TransportTraffic::operator+=(const TransportTraffic& other) {
  size_bytes += other.size_bytes;
  time_ns += other.time_ns;
  for (const auto& [size, count] : other.sizes) {
    sizes[size].count += count.count;
    sizes[size].time_ns += count.time_ns;
  }
  return *this;
}

std::vector<CommunicationStep> Communication(const DeviceView& view) {
  const TraceData& data = *view.data;
  std::vector<CommunicationStep> steps(std::max<size_t>(data.steps.size(), 1));
  for (size_t i = 0; i < data.steps.size(); ++i) steps[i].step_id = data.steps[i].step_id;
  const StepFinder finder(data);
  for (uint32_t i = 0; i < data.communications.size(); ++i) {
    const std::optional<size_t> step = finder.Of(data.communications[i].ts);
    if (!step) continue;
    CommunicationRow row;
    row.index = i;
    row.times = TimesOf(view, i);
    row.links = LinksOf(view, i);
    const auto transfers = TransfersOf(view, i);
    row.is_nominal = transfers.empty();
    row.traffic = MeasuredTraffic(data, transfers);
    row.size_bytes = row.is_nominal ? NominalBytes(view, i) : SentBytes(row.traffic);
    steps[*step].rows.push_back(std::move(row));
  }
  std::erase_if(steps, [](const CommunicationStep& step) { return step.rows.empty(); });
  return steps;
}

namespace {

#define SONDE_COLUMNS_COMMUNICATION(C)                                                          \
  C(step_id, Opt, "", KeyOf("step"), "step that holds its begin; NULL: the trace has no steps") \
  C(name, Text, "", KeyOf("communication"), "of the operation, with its number in its group")   \
  C(group_name, Text, "", KeyOf("communicator"), "communicator")                                \
  C(kind, Text, "", KeyOf("communication_kind"), "allReduce, allGather, send, ...")             \
  C(elapse_ns, Int, "ns", kLess, "from begin to end")                                           \
  C(transit_ns, Int, "ns", kLess, "transferring; all of it where the parts are not known")      \
  C(wait_ns, Int, "ns", kLess, "waiting for other ranks")                                       \
  C(idle_ns, Int, "ns", kLess, "rest of the duration")                                          \
  C(size_bytes, Int, "bytes", kNeither, "sent to other ranks")                                  \
  C(basis, Text, "", kLabel, "of size_bytes: measured; nominal: computed from the payload")     \
  C(slice_id, Int, "", KeyOf("slice"), "its slice")                                             \
  C(start_ns, Int, "ns", kLabel, "begin, of the Unix epoch")
SONDE_RESULT(CommunicationRecord, kCommunication, "communication", SONDE_COLUMNS_COMMUNICATION,
             "a communication operation with its times")

void RunCommunication(const DeviceView& view, store::RowSink& rows) {
  for (const CommunicationStep& step : Communication(view)) {
    for (const CommunicationRow& row : step.rows) {
      const CommunicationView& shown = view.communications[row.index];
      const store::CommunicationOpRow& op = view.data->communications[row.index];
      CommunicationRecord{step.step_id.value_or(-1),
                          shown.name,
                          shown.group_name,
                          HcomKind(view.data->Name(op.op_type)),
                          row.times.elapse_ns,
                          row.times.transit_ns,
                          row.times.wait_ns,
                          row.times.idle_ns,
                          row.size_bytes,
                          row.is_nominal ? "nominal" : "measured",
                          op.slice_id,
                          op.ts}
          .Write(rows);
    }
  }
}

}  // namespace

extern const Recipe kCommunicationRecipe;
constexpr Recipe kCommunicationRecipe = {
    &kCommunication,
    Reads<store::CommunicationOpRow, store::CommunicationTransitRow, store::StepRow,
          store::CommunicationGroupRow>()
        .WithBounds()
        .WithWaits(),
    &RunCommunication};

}  // namespace sonde::recipes
