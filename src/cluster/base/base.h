// The base modes (all, communication_time, communication_matrix) and their parts as modes
// (communication_group_map, communication_time_sum, communication_matrix_sum): what the profiler
// itself reports of steps and communication (cluster/delivered), put together over the ranks.
//
//   groups   by (kind, hash): the ranks that were seen, or those that the metadata lists
//   times    operations as delivered, and their sums by step, rank and group; ratio = wait /
//            (wait + transit), 4 decimals
//   traffic  by size of packets; sums by step, rank, group, link and size, where the size of an
//            operation counts once for each link
//   matrix   links as delivered, of ranks inside a group, summed over the ranks under their global
//            numbers: those of the metadata, else of a rank's link to itself. What cannot be mapped
//            is left out and counted in a notice
//   steps    as delivered; for each stage of the pipeline the greatest of its ranks
// Units: those of the reference's tables (microseconds in steps and starts, else milliseconds,
// megabytes, GB/s). Pure, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/delivered/delivered.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_GROUP_MAP(C)                                                      \
  C(type, Text, "type", "", "", KeyOf("group_type"), "collective or p2p")               \
  C(rank_set, Text, "rank_set", "", "", kLabel, "global ranks, as (0,1)")               \
  C(group_hash, Text, "group_name", "", "", KeyOf("group"), "hash of the communicator") \
  C(group_id, Text, "group_id", "", "", kLabel, "communicator; empty: unknown")         \
  C(pg_name, Text, "pg_name", "", "", kLabel, "dp, tp, pp, ...; empty: unknown")
SONDE_CLUSTER_TABLE(GroupMapRow, kGroupMap, "cluster_communication_group",
                    "CommunicationGroupMapping", "communication_group_mapping",
                    SONDE_COLUMNS_GROUP_MAP, "groups of ranks that communicate")

#define SONDE_COLUMNS_CLUSTER_TIME(C)                                                    \
  C(step, Text, "step", "", "", KeyOf("step_name"), "as the profiler names it")          \
  C(rank, Int, "rank_id", "", "", KeyOf("rank"), "global rank")                          \
  C(op_name, Text, "hccl_op_name", "", "", KeyOf("communication"), "operation or sum")   \
  C(group_hash, Text, "group_name", "", "", KeyOf("group"), "hash of the communicator")  \
  C(start_us, Double, "start_timestamp", "", "us", kLabel, "begin; 0 of a sum")          \
  C(elapsed_ms, Double, "elapsed_time", "", "ms", kLess, "from begin to end")            \
  C(transit_ms, Double, "transit_time", "", "ms", kLess, "of it: transferring")          \
  C(wait_ms, Double, "wait_time", "", "ms", kLess, "of it: waiting for other ranks")     \
  C(sync_ms, Double, "synchronization_time", "", "ms", kLess, "wait before the first")   \
  C(idle_ms, Double, "idle_time", "", "ms", kLess, "the rest")                           \
  C(sync_ratio, Double, "synchronization_time_ratio", "", "", kLess, "of a sum, else 0") \
  C(wait_ratio, Double, "wait_time_ratio", "", "", kLess, "of a sum, else 0")
SONDE_CLUSTER_TABLE(ClusterTimeRow, kClusterTime, "cluster_communication_time",
                    "ClusterCommunicationTime", "cluster_communication_time",
                    SONDE_COLUMNS_CLUSTER_TIME, "times of communication operations")

#define SONDE_COLUMNS_CLUSTER_BANDWIDTH(C)                                              \
  C(step, Text, "step", "", "", KeyOf("step_name"), "as the profiler names it")         \
  C(rank, Int, "rank_id", "", "", KeyOf("rank"), "global rank")                         \
  C(op_name, Text, "hccl_op_name", "", "", KeyOf("communication"), "operation or sum")  \
  C(group_hash, Text, "group_name", "", "", KeyOf("group"), "hash of the communicator") \
  C(link, Text, "band_type", "", "", KeyOf("link"), "kind of link")                     \
  C(size_mb, Double, "transit_size", "", "MB", kNeither, "over the link")               \
  C(time_ms, Double, "transit_time", "", "ms", kLess, "over the link")                  \
  C(bandwidth, Double, "bandwidth", "", "GB/s", kMore, "size / time")                   \
  C(large_ratio, Double, "large_packet_ratio", "", "", kMore, "share of large packets") \
  C(package_mb, Double, "package_size", "", "MB", KeyOf("package"), "size of a packet") \
  C(count, Int, "count", "", "", kNeither, "packets of that size")                      \
  C(duration_ms, Double, "total_duration", "", "ms", kLess, "of these packets")
SONDE_CLUSTER_TABLE(ClusterBandwidthRow, kClusterBandwidth, "cluster_communication_bandwidth",
                    "ClusterCommunicationBandwidth", "cluster_communication_bandwidth",
                    SONDE_COLUMNS_CLUSTER_BANDWIDTH, "traffic of communication operations by link")

#define SONDE_COLUMNS_CLUSTER_MATRIX(C)                                                 \
  C(step, Text, "step", "", "", KeyOf("step_name"), "as the profiler names it")         \
  C(op_name, Text, "hccl_op_name", "", "", KeyOf("communication"), "choice or sum")     \
  C(group_hash, Text, "group_name", "", "", KeyOf("group"), "hash of the communicator") \
  C(src_rank, Int, "src_rank", "", "", KeyOf("src_rank"), "global rank")                \
  C(dst_rank, Int, "dst_rank", "", "", KeyOf("dst_rank"), "global rank")                \
  C(transport, Text, "transport_type", "", "", kLabel, "kind of link")                  \
  C(named_op, Text, "op_name", "", "", kLabel, "operation that was chosen")             \
  C(size_mb, Double, "transit_size", "", "MB", kNeither, "transferred")                 \
  C(time_ms, Double, "transit_time", "", "ms", kLess, "of the transfers")               \
  C(bandwidth, Double, "bandwidth", "", "GB/s", kMore, "size / time")
SONDE_CLUSTER_TABLE(ClusterMatrixRow, kClusterMatrix, "cluster_communication_matrix",
                    "ClusterCommunicationMatrix", "cluster_communication_matrix",
                    SONDE_COLUMNS_CLUSTER_MATRIX, "transfers between ranks")

// The last three: of a stage "NA".
#define SONDE_COLUMNS_CLUSTER_STEP(C)                                                           \
  C(step, OptText, "step", "Step", "", KeyOf("step_name"), "number of the step")                \
  C(type, Text, "type", "Type", "", KeyOf("row_type"), "rank or stage")                         \
  C(index, Text, "index", "Index", "", KeyOf("rank_or_stage"), "the rank, or those of a stage") \
  C(computing_us, Double, "computing", "Computing", "us", kLess, "computing")                   \
  C(not_overlapped_us, Double, "communication_not_overlapped", "Communication(Not Overlapped)", \
    "us", kLess, "communicating while nothing is computed")                                     \
  C(overlapped_us, Double, "overlapped", "Overlapped", "us", kMore, "both at once")             \
  C(communication_us, Double, "communication", "Communication", "us", kLess, "communicating")   \
  C(free_us, Double, "free", "Free", "us", kLess, "neither")                                    \
  C(stage_us, Double, "stage", "Stage", "us", kLess, "the step without bubbles")                \
  C(bubble_us, Double, "bubble", "Bubble", "us", kLess, "receiving from another stage")         \
  C(without_receive_us, Double, "communication_not_overlapped_and_exclude_receive",             \
    "Communication(Not Overlapped and Exclude Receive)", "us", kLess, "without bubbles")        \
  C(preparing_us, Double, "preparing", "Preparing", "us", kLess, "before the first work")       \
  C(dp_index, Int, "dp_index", "DP Index", "", kLabel, "place among data parallel ranks")       \
  C(pp_index, Int, "pp_index", "PP Index", "", kLabel, "stage of the pipeline")                 \
  C(tp_index, Int, "tp_index", "TP Index", "", kLabel, "place among tensor parallel ranks")
SONDE_CLUSTER_TABLE(ClusterStepRow, kClusterStep, "cluster_step_trace_time", "ClusterStepTraceTime",
                    "cluster_step_trace_time", SONDE_COLUMNS_CLUSTER_STEP,
                    "where the time of steps went, by rank and stage")

#define SONDE_COLUMNS_HOST_INFO(C)                                       \
  C(host_uid, Text, "hostUid", "", "", KeyOf("host_uid"), "of the host") \
  C(host_name, Text, "hostName", "", "", KeyOf("host"), "its name")
SONDE_CLUSTER_TABLE(HostInfoRow, kHostInfo, "cluster_host", "HostInfo", "host_info",
                    SONDE_COLUMNS_HOST_INFO, "hosts of the ranks")

#define SONDE_COLUMNS_RANK_DEVICE(C)                                     \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")           \
  C(device_id, Int, "deviceId", "", "", kLabel, "number of its device")  \
  C(host_uid, Text, "hostUid", "", "", KeyOf("host_uid"), "of its host") \
  C(path, Text, "profilePath", "", "", kLabel, "folder of its trace")
SONDE_CLUSTER_TABLE(RankDeviceRow, kRankDevice, "cluster_rank_device", "RankDeviceMap",
                    "rank_device_map", SONDE_COLUMNS_RANK_DEVICE, "ranks and their devices")

#define SONDE_COLUMNS_BASE_INFO(C)                              \
  C(key, Text, "key", "", "", KeyOf("key"), "name of the fact") \
  C(value, Text, "value", "", "", kLabel, "the fact, JSON")
SONDE_CLUSTER_TABLE(BaseInfoRow, kBaseInfo, "cluster_base_info", "ClusterBaseInfo",
                    "cluster_base_info", SONDE_COLUMNS_BASE_INFO, "facts of the job")

using Ranks = std::span<const RankPart>;

// A group with the ranks that take part in it.
struct KnownGroup {
  bool is_p2p = false;
  std::string hash;
  std::string id;
  std::string pg_name;
  std::vector<int32_t> observed;  // that have operations of it
  std::vector<int32_t> ranks;     // of the metadata, else observed
};
std::vector<KnownGroup> GroupsOf(Ranks ranks);
// Groups that ranks know under different names.
void ReportNamesOfGroups(Ranks ranks, Outcome& outcome);
std::vector<GroupMapRow> GroupRows(const std::vector<KnownGroup>& groups);

// Of ten thousand ranks they are large: no list of rows is made first.
Table TimeTable(Ranks ranks);
Table BandwidthTable(Ranks ranks);

inline constexpr std::string_view kTotal = "Total Op Info";
double RatioOf(double part, double other);  // part / (part + other), 4 decimals; 0 of nothing

// Global numbers of ranks inside groups.
class RankNumbers {
 public:
  explicit RankNumbers(Ranks ranks);
  std::optional<int32_t> Global(const std::string& group, int32_t local) const;

 private:
  std::map<std::pair<std::string, int32_t>, int32_t> numbers_;
};
// Links under global numbers, summed over ranks; what could not be mapped is counted.
struct GlobalLink {
  std::string step;
  bool is_p2p = false;
  std::string op;
  std::string group;
  int32_t src = 0;
  int32_t dst = 0;
  std::string transport;
  std::string op_name;
  double size_mb = 0;
  double time_ms = 0;
};
struct GlobalLinks {
  std::vector<GlobalLink> links;
  std::map<std::string, int64_t> unmapped;  // by group
};
GlobalLinks LinksOf(Ranks ranks);
std::vector<ClusterMatrixRow> MatrixRows(const GlobalLinks& links);

// Places of a rank by Megatron's rule; none where the sizes do not give them.
struct ParallelPlace {
  int64_t dp = 0;
  int64_t pp = 0;
  int64_t tp = 0;
};
class ParallelPlaces {
 public:
  explicit ParallelPlaces(Ranks ranks);
  bool known() const { return known_; }
  std::optional<ParallelPlace> Of(int32_t rank) const;

 private:
  bool known_ = false;
  int64_t world_ = 0;
  int64_t tp_ = 1;
  int64_t pp_ = 1;
};
std::vector<std::vector<int32_t>> StagesOf(const std::vector<KnownGroup>& groups);
Table StepTable(Ranks ranks, const std::vector<KnownGroup>& groups);

// The text forms.
std::string StepCsv(Ranks ranks, const std::vector<KnownGroup>& groups);
std::string CommunicationJson(Ranks ranks, const std::vector<KnownGroup>& groups);
std::string MatrixJson(const std::vector<KnownGroup>& groups, const GlobalLinks& links);
std::string GroupJson(const std::vector<KnownGroup>& groups);

// Sentences.
// Delivered steps of a rank that count for sentences (recipes/trace/counted_steps.h); tables have
// all.
std::vector<const DeliveredStep*> StepsThatCount(const RankPart& rank);
void ReportSteps(Ranks ranks, Outcome& outcome);
void ReportWaits(Ranks ranks, Outcome& outcome);
void ReportLinks(const GlobalLinks& links, Outcome& outcome);
void ReportGroups(const std::vector<KnownGroup>& groups, Outcome& outcome);
// Before all others: which rank is slow and why (slow_rank/reasons.h), or that none is. Traces are
// read for that where the delivered times show that others may wait for a rank: of up to 16 ranks
// all, of more 16 of its stage.
Status LookCloser(Ranks ranks, const std::vector<KnownGroup>& groups, const ModeOptions& options,
                  Outcome& outcome);

// "(0, 1)" with ", " between, or "(0,1)"; of Python's tuple a single one is "(0,)".
std::string TupleText(const std::vector<int32_t>& ranks, std::string_view between);

}  // namespace sonde::cluster
