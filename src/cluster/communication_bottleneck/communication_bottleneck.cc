// communication_bottleneck: why the longest communication operations of a rank took so long.
//
// Of the --top_num (10) longest of rank --rank_id (0), over all ranks that have the operation:
//   fast, slow   the ranks that spent most and least time in it: the fast one waited for the slow
//                one. (max - min) / max < 0.05: nobody waited
//   clocks       of both ranks are laid upon each other by the end of the operation
//   bound by     the device, where more than half of the slow rank's work meanwhile waited on the
//                device 0.1 ms longer than between framework and launch; else by the host
//   reason       both ranks' work before the operation, compared backwards side by side until
//                they are aligned to 1 ms: the largest excess, and the latest begin
// Limits and texts are those of the reference. Table CommunicationBottleneck. Pure but for the
// second look at the ranks that are fast or slow.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "cluster/communication_bottleneck/streams.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/other_run.h"

namespace sonde::cluster {
namespace {

constexpr ModeOption kBottleneckTop = TopNumber("10");
constexpr ModeOption kBottleneckRank = {.name = "--rank_id",
                                        .kind = OptionKind::kInt,
                                        .help = "Rank whose operations are analysed",
                                        .usual = "0"};

using base::Concat;

#define SONDE_COLUMNS_BOTTLENECK(C)                                                           \
  C(start_us, Text, "startTime(us)", "Start Time(us)", "us", kLabel, "begin, exact")          \
  C(end_us, Text, "endTime(us)", "End Time(us)", "us", kLabel, "end, exact")                  \
  C(dur_us, Double, "duration(us)", "Duration(us)", "us", kLess, "duration")                  \
  C(op_name, Text, "communicationOp", "Communication Op", "", KeyOf("communication"), "name") \
  C(slow_rank, Opt, "slowRankId", "Slow Rank ID", "", kLabel, "rank that came last")          \
  C(fast_rank, Opt, "fastRankId", "Fast Rank ID", "", kLabel, "rank that waited longest")     \
  C(reason, Text, "reason", "Reason", "", kLabel, "why")
SONDE_CLUSTER_TABLE(BottleneckRow, kBottleneck, "communication_bottleneck",
                    "CommunicationBottleneck", "communication_bottleneck", SONDE_COLUMNS_BOTTLENECK,
                    "why the longest communication took so long")

constexpr double kWaitedShare = 0.05;
constexpr int64_t kLongWaitNs = 100'000;
constexpr double kDeviceShare = 0.5;

struct BottleneckOpRow {
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t dur() const { return end - begin; }
};

Status MapCommunicationBottleneck(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (!rank.window.Has(op.ts)) continue;
    part.Rows<BottleneckOpRow>().push_back(
        {rank.view.communications[i].name, op.ts, rank.view.EndNs(op)});
  }
  return {};
}

struct Side {
  int32_t rank = -1;
  BottleneckOpRow op;
};
struct Case {
  BottleneckOpRow op;  // of the rank that was named
  std::optional<Side> fast;
  std::optional<Side> slow;
};

Case CaseOf(const BottleneckOpRow& op, std::span<const RankPart> ranks) {
  Case found;
  found.op = op;
  for (const RankPart& rank : ranks) {
    for (const BottleneckOpRow& other : rank.part.Rows<BottleneckOpRow>()) {
      if (other.name != op.name) continue;
      if (!found.fast || other.dur() > found.fast->op.dur()) found.fast = {rank.rank, other};
      if (!found.slow || other.dur() < found.slow->op.dur()) found.slow = {rank.rank, other};
    }
  }
  const auto most = static_cast<double>(found.fast->op.dur());
  const auto least = static_cast<double>(found.slow->op.dur());
  if (most <= 0 || (most - least) / most < kWaitedShare) found.fast = found.slow = std::nullopt;
  return found;
}

using Streams = std::map<int32_t, const Part*>;

std::vector<const StreamEvent*> Before(const Part& part, StreamEvent::Stream stream,
                                       int64_t moment) {
  std::vector<const StreamEvent*> events;
  for (const StreamEvent& event : part.Rows<StreamEvent>()) {
    if (event.stream == stream && event.begin < moment) events.push_back(&event);
  }
  return events;
}

std::string Us(int64_t ns) { return base::PythonDoubleText(static_cast<double>(ns) / 1e3); }

std::string TextOf(std::string_view stream, const Drift& drift) {
  return Concat(stream, ": max duration-diff op ", drift.longest_name, ", diff ",
                Us(drift.longest_ns), " us, max start-time-diff op ", drift.latest_name, ", diff ",
                Us(drift.latest_ns), " us.");
}

// None where the slow rank ran nothing meanwhile.
std::optional<bool> IsDeviceBound(const Case& one, const Part& slow, int64_t shift_ns) {
  size_t count = 0;
  size_t waited = 0;
  for (const LaunchedTask& task : slow.Rows<LaunchedTask>()) {
    if (task.begin <= one.fast->op.begin - shift_ns || task.end >= one.slow->op.end) continue;
    ++count;
    const int64_t host_ns = task.call_begin - task.framework_end;
    const int64_t device_ns = task.begin - task.call_end;
    if (device_ns - host_ns > kLongWaitNs) ++waited;
  }
  if (count == 0) return std::nullopt;
  return static_cast<double>(waited) > kDeviceShare * static_cast<double>(count);
}

std::string ReasonOf(const Case& one, const Streams& streams) {
  using Stream = StreamEvent::Stream;
  if (!one.slow) {
    return "[Completed] No slow NPU detected: execution time difference is less than 0.05%";
  }
  const Part& slow = *streams.at(one.slow->rank);
  const Part& fast = *streams.at(one.fast->rank);
  const int64_t shift_ns = one.fast->op.end - one.slow->op.end;
  const auto is_device = IsDeviceBound(one, slow, shift_ns);
  if (!is_device) return "[Failed] Insufficient data for analyzing slow NPU bottleneck";
  const auto compare = [&](Stream stream) {
    return CompareStreams(Before(slow, stream, one.slow->op.begin),
                          Before(fast, stream, one.fast->op.begin), shift_ns);
  };
  const std::string_view bound = *is_device ? "[Device-bound]" : "[Host-bound]";
  std::string apart =
      Concat(bound, " Tasks are not aligned between slow and fast NPU from the beginning");
  if (*is_device) {
    const Drift drift = compare(Stream::kDevice);
    return drift.is_aligned ? Concat(bound, TextOf("Device", drift)) : apart;
  }
  const Drift framework = compare(Stream::kFramework);
  const Drift calls = compare(Stream::kHostInterface);
  if (!framework.is_aligned && !calls.is_aligned) return apart;
  return Concat(bound, " ", TextOf("PyTorch", framework), " | ", TextOf("CANN", calls));
}

BottleneckRow RowOf(const Case& one, const Streams& streams) {
  return {.start_us = base::NsToMicrosecondText(one.op.begin),
          .end_us = base::NsToMicrosecondText(one.op.end),
          .dur_us = static_cast<double>(one.op.dur()) / 1e3,
          .op_name = one.op.name,
          .slow_rank = one.slow ? one.slow->rank : -1,
          .fast_rank = one.fast ? one.fast->rank : -1,
          .reason = ReasonOf(one, streams)};
}

Result<std::vector<BottleneckOpRow>> LongestOf(std::span<const RankPart> ranks,
                                               const ModeOptions& options) {
  const int64_t wanted = IntOf(options.values, kBottleneckRank);
  const auto target = std::find_if(ranks.begin(), ranks.end(),
                                   [&](const RankPart& rank) { return rank.rank == wanted; });
  if (target == ranks.end()) {
    return base::NotFoundError(
        Concat("Target rank_id ", std::to_string(wanted),
               " not found in profiling path, or without communication, or not ",
               "of --rank_list: name one of those with --rank_id"));
  }
  std::vector<BottleneckOpRow> ops = target->part.Rows<BottleneckOpRow>();
  std::stable_sort(ops.begin(), ops.end(), [](const BottleneckOpRow& a, const BottleneckOpRow& b) {
    return a.dur() > b.dur();
  });
  const auto most = static_cast<size_t>(IntOf(options.values, kBottleneckTop));
  if (ops.size() > most) ops.resize(most);
  return ops;
}

Status ReduceCommunicationBottleneck(std::span<const RankPart> ranks, const ModeOptions& options,
                                     Outcome& outcome) {
  SONDE_ASSIGN_OR_RETURN(const std::vector<BottleneckOpRow> ops, LongestOf(ranks, options));
  std::vector<Case> cases;
  std::set<int32_t> wanted;
  for (const BottleneckOpRow& op : ops) {
    cases.push_back(CaseOf(op, ranks));
    if (cases.back().slow) wanted.insert({cases.back().slow->rank, cases.back().fast->rank});
  }
  std::vector<RankPart> parts;
  if (!wanted.empty()) {
    SONDE_ASSIGN_OR_RETURN(parts, MapFolder(kStreamsMode, options.profiling_path,
                                            {wanted.begin(), wanted.end()}, options));
  }
  Streams streams;
  for (const RankPart& part : parts) streams[part.rank] = &part.part;
  std::vector<BottleneckRow> rows;
  for (const Case& one : cases) rows.push_back(RowOf(one, streams));
  outcome.tables = {TableOf(kBottleneck, rows)};
  for (const BottleneckRow& row : rows) {
    if (row.slow_rank < 0) continue;
    AddFinding(outcome, "cluster.bottleneck",
               {row.op_name, std::to_string(row.fast_rank), row.reason}, kBottleneck);
  }
  if (outcome.findings.empty()) {
    AddFinding(outcome, "cluster.no_bottleneck", {std::to_string(rows.size())}, kBottleneck);
  }
  return {};
}

constexpr std::array kCommunicationBottleneckTables = {&kBottleneck};
constexpr std::array kCommunicationBottleneckOptions = {&kBottleneckRank, &kBottleneckTop};

}  // namespace

extern const Mode kCommunicationBottleneckMode;
constexpr Mode kCommunicationBottleneckMode = {
    .name = "communication_bottleneck",
    .folder = "CommunicatonBottleneckAnalysis",  // the reference's spelling
    .summary = "Why the longest communication operations of a rank took so long",
    .tables = kCommunicationBottleneckTables,
    .needs = recipes::Reads<store::CommunicationOpRow>(),
    .wants = kWantsCommunication,
    .options = kCommunicationBottleneckOptions,
    .map = &MapCommunicationBottleneck,
    .reduce = &ReduceCommunicationBottleneck};

}  // namespace sonde::cluster
