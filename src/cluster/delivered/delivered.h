// What a profiler itself reports of a rank's steps and communication: the tables of analysis.db or
// communication_analyzer.db, or step_trace_time.csv and communication*.json. Of a trace without
// them (a Kineto trace, a capture of Sonde) the recipes give the same rows.
//
// The files are read where they lie, without an import. Units as delivered: microseconds in steps
// and starts, milliseconds, megabytes (10^6) and GB/s elsewhere. Values, any thread. Errors: Status
// where a file is there and cannot be read; tables and files that are not there are no rows.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/status.h"
#include "recipes/trace/device_view.h"

namespace sonde::cluster {

// In the order of step_trace_time.csv.
enum StepColumn : uint8_t {
  kComputing,
  kNotOverlapped,
  kOverlapped,
  kCommunicating,
  kFree,
  kStage,
  kBubble,
  kWithoutReceive,
  kPreparing,
  kStepColumns
};

struct DeliveredStep {
  std::string step;  // "50"; "" where there are none
  std::array<double, kStepColumns> us{};
};

struct DeliveredTime {
  std::string step;  // "step50"
  bool is_p2p = false;
  std::string op;
  std::string group;  // hash, in decimal
  double start_us = 0;
  double elapse_ms = 0;
  double transit_ms = 0;
  double wait_ms = 0;
  double synchronization_ms = 0;
  double idle_ms = 0;
};

// A size of packets of an operation over a kind of link; the sums of the link repeat.
struct DeliveredBandwidth {
  std::string step;
  bool is_p2p = false;
  std::string op;
  std::string group;
  std::string transport;
  double size_mb = 0;
  double time_ms = 0;
  double bandwidth = 0;
  double large_packet_ratio = 0;
  double package_mb = 0;
  int64_t count = 0;
  double duration_ms = 0;
};

struct DeliveredLink {
  std::string step;
  bool is_p2p = false;
  std::string op;  // "allreduce-top1"
  std::string group;
  int32_t src = 0;  // inside the group
  int32_t dst = 0;
  std::string transport;
  std::string op_name;
  double size_mb = 0;
  double time_ms = 0;
};

struct DeliveredGroup {
  std::string hash;
  std::string id;  // communicator
  std::string pg_name;
  std::vector<int32_t> ranks;  // global
};

// Facts of the rank; each is there once.
struct DeliveredFacts {
  bool is_text = false;            // of files of the text form
  bool has_only_analysis = false;  // of analysis.db without the database of a profiler
  std::string distributed_args;    // JSON without the member "rank"; "" where it is not known
  std::string host_uid;
  std::string host_name;
  int64_t device_id = -1;
};

struct Delivered {
  DeliveredFacts facts;
  std::vector<DeliveredStep> steps;
  std::vector<DeliveredTime> times;
  std::vector<DeliveredBandwidth> bandwidths;
  std::vector<DeliveredLink> links;
  std::vector<DeliveredGroup> groups;
  bool empty() const { return steps.empty() && times.empty() && links.empty(); }
};

// Empty where the trace at `path` has no such files.
Result<Delivered> ReadDelivered(const std::string& path);
// Of them the steps alone: communication is most of these files.
Result<std::vector<DeliveredStep>> ReadDeliveredSteps(const std::string& path);

// The same rows as the recipes compute them; needs DeliveredNeeds().
Delivered ComputeDelivered(const recipes::DeviceView& view);
// Of them the steps alone: links between all pairs of many ranks take long. Needs StepNeeds().
std::vector<DeliveredStep> ComputeSteps(const recipes::DeviceView& view);
constexpr recipes::Needs StepNeeds() {
  return recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow,
                        store::CommunicationGroupRow, store::StepRow, store::SliceRow,
                        store::FrameworkOpRow>()
      .WithDeviceTimes();
}
constexpr recipes::Needs DeliveredNeeds() {
  return (StepNeeds() | recipes::Reads<store::CommunicationTransitRow>()).WithWaits();
}

// Text of a group's hash: of the name of its communicator.
std::string HashOfGroup(std::string_view communicator);

}  // namespace sonde::cluster
