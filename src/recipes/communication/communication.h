// Communication operations with their times and traffic, by step (communication.json and the tables
// CommAnalyzerTime and CommAnalyzerBandwidth of analysis.db).
//
//   elapse   end - start
//   transit  time of the transfers              wait  time waiting for other ranks
//   synchronization  wait before the first transfer        idle  elapse - transit - wait
//   wait ratio = wait / (wait + transit), synchronization ratio = sync / (sync + transit), 4
//   decimals bandwidth = size / time in GB/s (10^9), 4 decimals
// An NPU capture has the parts and the transfers of each link. A CPU capture knows only start, end
// and payload: everything is transit there (for a barrier, which transfers nothing, everything is
// wait), and only the bytes that it has to send are known (NominalBytes), no traffic and no links.
// Step: that which holds the start, both ends inclusive; with a single step all operations; without
// steps "step". Operations outside all steps are left out. These are the peer's rules.
// Units: nanoseconds, bytes. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/communication/traffic.h"
#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct CommunicationTimes {
  int64_t elapse_ns = 0;
  int64_t transit_ns = 0;
  int64_t wait_ns = 0;
  int64_t synchronization_ns = 0;
  int64_t idle_ns = 0;

  double WaitRatio() const;
  double SynchronizationRatio() const;
  CommunicationTimes& operator+=(const CommunicationTimes& other);
};

// Transfers of one size over one transport.
struct SizeCount {
  int64_t count = 0;
  int64_t time_ns = 0;
};
struct TransportTraffic {
  int64_t size_bytes = 0;
  int64_t time_ns = 0;
  std::map<int64_t, SizeCount> sizes;  // by size of a transfer in bytes

  TransportTraffic& operator+=(const TransportTraffic& other);
};

struct CommunicationRow {
  uint32_t index = 0;  // into data.communications
  CommunicationTimes times;
  std::map<Transport, TransportTraffic> traffic;  // that of HCCS, PCIE and SIO under SDMA too
  std::vector<Link> links;                        // measured; of them and `traffic` none: unknown
  int64_t size_bytes = 0;                         // sent to other ranks
  bool is_nominal = false;  // size_bytes is NominalBytes(): no transfer was measured
};

struct CommunicationStep {
  std::optional<int64_t> step_id;
  std::vector<CommunicationRow> rows;
};

// Steps in order, operations by start.
std::vector<CommunicationStep> Communication(const DeviceView& view);

// Python's round(value, 4).
double RoundTo4(double value);
// GB/s, 4 decimals; 0 where the time is 0.
double BandwidthGbPerS(int64_t size_bytes, int64_t time_ns);

}  // namespace sonde::recipes
