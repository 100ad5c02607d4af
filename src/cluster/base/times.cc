// Times and traffic of operations, and their sums.
#include <set>
#include <tuple>

#include "cluster/base/base.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {

double RatioOf(double part, double other) {
  return part + other > 0 ? Round(part / (part + other), 4) : 0;
}

Table TimeTable(Ranks ranks) {
  Table table(kClusterTime);
  std::map<std::tuple<std::string, int32_t, std::string>, ClusterTimeRow> sums;
  for (const RankPart& rank : ranks) {
    for (const DeliveredTime& time : rank.part.Rows<DeliveredTime>()) {
      ClusterTimeRow{.step = time.step,
                     .rank = rank.rank,
                     .op_name = time.op,
                     .group_hash = time.group,
                     .start_us = time.start_us,
                     .elapsed_ms = time.elapse_ms,
                     .transit_ms = time.transit_ms,
                     .wait_ms = time.wait_ms,
                     .sync_ms = time.synchronization_ms,
                     .idle_ms = time.idle_ms}
          .Write(table);
      ClusterTimeRow& sum = sums[{time.step, rank.rank, time.group}];
      sum.elapsed_ms += time.elapse_ms;
      sum.transit_ms += time.transit_ms;
      sum.wait_ms += time.wait_ms;
      sum.sync_ms += time.synchronization_ms;
      sum.idle_ms += time.idle_ms;
    }
  }
  for (auto& [key, sum] : sums) {
    std::tie(sum.step, sum.rank, sum.group_hash) = key;
    sum.op_name = kTotal;
    sum.sync_ratio = RatioOf(sum.sync_ms, sum.transit_ms);
    sum.wait_ratio = RatioOf(sum.wait_ms, sum.transit_ms);
    sum.Write(table);
  }
  return table;
}

namespace {

using LinkKey = std::tuple<std::string, int32_t, std::string, std::string>;  // ..., group, link

// Size and time of the operations of a link, each once.
struct LinkSum {
  std::set<std::string> ops;
  double size_mb = 0;
  double time_ms = 0;
  std::map<double, std::pair<int64_t, double>> packages;  // count, duration by size
};

void AddSums(const std::map<LinkKey, LinkSum>& sums, Table& table) {
  for (const auto& [key, sum] : sums) {
    for (const auto& [size, package] : sum.packages) {
      ClusterBandwidthRow row;
      std::tie(row.step, row.rank, row.group_hash, row.link) = key;
      row.op_name = kTotal;
      row.size_mb = sum.size_mb;
      row.time_ms = sum.time_ms;
      row.bandwidth = sum.time_ms > 0 ? Round(sum.size_mb / sum.time_ms, 4) : 0;
      row.package_mb = size;
      std::tie(row.count, row.duration_ms) = package;
      row.Write(table);
    }
  }
}

}  // namespace

Table BandwidthTable(Ranks ranks) {
  Table table(kClusterBandwidth);
  std::map<LinkKey, LinkSum> sums;
  for (const RankPart& rank : ranks) {
    for (const DeliveredBandwidth& link : rank.part.Rows<DeliveredBandwidth>()) {
      // Text files name every kind of link, databases those that were used.
      if (link.size_mb == 0 && link.time_ms == 0 && link.count == 0) continue;
      ClusterBandwidthRow{.step = link.step,
                          .rank = rank.rank,
                          .op_name = link.op,
                          .group_hash = link.group,
                          .link = link.transport,
                          .size_mb = link.size_mb,
                          .time_ms = link.time_ms,
                          .bandwidth = link.bandwidth,
                          .large_ratio = link.large_packet_ratio,
                          .package_mb = link.package_mb,
                          .count = link.count,
                          .duration_ms = link.duration_ms}
          .Write(table);
      LinkSum& sum = sums[{link.step, rank.rank, link.group, link.transport}];
      if (sum.ops.insert(link.op).second) {
        sum.size_mb += link.size_mb;
        sum.time_ms += link.time_ms;
      }
      auto& package = sum.packages[link.package_mb];
      package.first += link.count;
      package.second += link.duration_ms;
    }
  }
  AddSums(sums, table);
  return table;
}

}  // namespace sonde::cluster
