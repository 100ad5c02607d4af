// p2p_pairing: which send belongs to which receive.
//
//   opConnectionId  DOMAIN_SRC_DST_N: the three digits of the communicator in the operation's name,
//                   the ranks inside the group that sends and that receives, and the number of the
//                   operation among those of these two ranks on this rank, in the order of time; a
//                   send and its receive have the same
//   ranks           of the tasks Notify_Record and Notify_Wait of the operation, where the trace is
//                   a database that has them; else the other rank that the trace names. Operations
//                   whose tasks name several ranks have none, and are counted
//   lag             begin of the receive - begin of its send: below 0 the receiver waited
// Tables P2PPairing (the reference adds the column to the traces' COMMUNICATION_OP) and
// P2PPairs, ours. Units: nanoseconds. Any thread.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/host/json.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/statistics.h"
#include "importers/ascend/span.h"
#include "recipes/launch/host_calls.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using base::SqliteRow;

#define SONDE_COLUMNS_P2P(C)                                                     \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                   \
  C(op, Text, "opName", "", "", KeyOf("communication"), "name of the operation") \
  C(begin_ns, Int, "startNs", "", "ns", kLabel, "begin")                         \
  C(end_ns, Int, "endNs", "", "ns", kLabel, "end")                               \
  C(id, OptText, "opConnectionId", "", "", kLabel, "equal on both sides; NULL: ranks not known")
SONDE_CLUSTER_TABLE(P2pRow, kP2p, "p2p_pairing", "P2PPairing", "p2p_pairing", SONDE_COLUMNS_P2P,
                    "sends and receives by rank")

#define SONDE_COLUMNS_P2P_PAIR(C)                                                            \
  C(id, Text, "opConnectionId", "", "", KeyOf("p2p"), "of both")                             \
  C(group_name, Text, "groupName", "", "", KeyOf("group"), "communicator")                   \
  C(from, Opt, "sendRank", "", "", KeyOf("rank"), "global rank that sends; NULL: not there") \
  C(to, Opt, "receiveRank", "", "", KeyOf("rank"), "that receives; NULL: not there")         \
  C(send_ns, Opt, "sendStart", "", "ns", kLabel, "begin of the send")                        \
  C(receive_ns, Opt, "receiveStart", "", "ns", kLabel, "begin of the receive")               \
  C(lag_ns, Double, "lag", "", "ns", kNeither, "receive less send; NULL: one is not there")
SONDE_CLUSTER_TABLE(PairRow, kPairs, "p2p_pairs", "P2PPairs", "p2p_pairs", SONDE_COLUMNS_P2P_PAIR,
                    "sends with their receives")

// A send or receive of a rank.
struct Transfer {
  P2pRow row;
  std::string group_name;
  bool is_receive = false;
};
struct Unclear {
  int64_t count = 0;
};

// Ranks inside the group.
struct Ends {
  int64_t own = 0;
  int64_t other = 0;
};
// By name and begin; none where the tasks differ.
using EndsOfOp = std::map<std::pair<std::string, int64_t>, std::optional<Ends>>;

Result<EndsOfOp> ReadEnds(const std::string& path) {
  EndsOfOp ends;
  const importers::AscendSpan span = importers::FindSpan(path);
  if (span.databases.empty()) return ends;
  SONDE_ASSIGN_OR_RETURN(const auto reader, base::SqliteReader::Open(span.databases.front().path));
  for (const std::string_view table : {"COMMUNICATION_OP", "COMMUNICATION_TASK_INFO"}) {
    if (!reader.HasTable(table)) return ends;
  }
  SONDE_RETURN_IF_ERROR(reader.Query(
      "SELECT name.value, op.startNs, task.srcRank, task.dstRank FROM COMMUNICATION_TASK_INFO task "
      "JOIN COMMUNICATION_OP op ON op.opId = task.opId AND op.groupName = task.groupName "
      "JOIN STRING_IDS name ON name.id = op.opName JOIN STRING_IDS type ON type.id = task.taskType "
      "WHERE type.value IN ('Notify_Record', 'Notify_Wait')",
      [&](const SqliteRow& row) {
        const std::pair key(std::string(row.Text(0)), row.Int(1).value_or(0));
        if (!IsSendOrReceive(key.first)) return;
        const auto own = row.Int(2);
        const auto other = row.Int(3);
        const auto [found, is_new] = ends.try_emplace(key);
        if (is_new && own && other) {
          found->second = Ends{*own, *other};
        } else if (!own || !other || !found->second || found->second->own != *own ||
                   found->second->other != *other) {
          found->second = std::nullopt;
        }
      }));
  return ends;
}

// Places of global ranks in their group.
std::map<uint64_t, std::vector<int64_t>> RankLists(const recipes::TraceData& data) {
  std::map<uint64_t, std::vector<int64_t>> lists;
  for (const recipes::CommunicationGroup& group : data.groups) {
    const auto list = base::JsonDocument::Parse(group.rank_list, "rank_list");
    if (!list.ok() || lists.contains(group.hash)) continue;
    for (const base::JsonValue& rank : list->root().Elements()) {
      lists[group.hash].push_back(rank.AsInt().value_or(-1));
    }
  }
  return lists;
}

std::optional<Ends> EndsByPeer(const store::CommunicationOpRow& op, int32_t own_rank,
                               const std::map<uint64_t, std::vector<int64_t>>& lists) {
  const auto list = lists.find(static_cast<uint64_t>(op.group_hash));
  if (op.peer_rank < 0 || list == lists.end()) return std::nullopt;
  const auto place = [&](int64_t rank) {
    return std::find(list->second.begin(), list->second.end(), rank) - list->second.begin();
  };
  const Ends ends{place(own_rank), place(op.peer_rank)};
  const auto size = static_cast<int64_t>(list->second.size());
  if (ends.own == size || ends.other == size) return std::nullopt;
  return ends;
}

Status MapP2pPairing(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  SONDE_ASSIGN_OR_RETURN(const EndsOfOp read, ReadEnds(rank.path));
  const auto lists = RankLists(data);
  const recipes::HostCalls calls(data);
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  Unclear unclear;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = rank.view.communications[i];
    if (!IsSendOrReceive(base::ToLower(shown.name)) && op.is_p2p == 0) continue;
    bool is_wanted = false;
    calls.ForEach(op, [&](int64_t ts) { is_wanted |= rank.window.Has(ts); });
    if (!is_wanted) continue;
    const auto found = read.find({shown.name, op.ts});
    std::optional<Ends> ends =
        found != read.end() ? found->second : EndsByPeer(op, rank.rank, lists);
    Transfer transfer{.row = {.rank = rank.rank,
                              .op = shown.name,
                              .begin_ns = op.ts,
                              .end_ns = rank.view.EndNs(op),
                              .id = {}},
                      .group_name = shown.group_name,
                      .is_receive = base::ToLower(shown.name).find("rec") != std::string::npos};
    if (ends) {
      if (transfer.is_receive) std::swap(ends->own, ends->other);
      const int64_t number = counts[{ends->own, ends->other}]++;
      transfer.row.id = Concat(GroupDigits(shown.group_name), "_", std::to_string(ends->own), "_",
                               std::to_string(ends->other), "_", std::to_string(number));
    } else {
      ++unclear.count;
    }
    part.Rows<Transfer>().push_back(std::move(transfer));
  }
  if (!part.Rows<Transfer>().empty()) MapCollectives(rank, part);
  if (unclear.count > 0) part.Rows<Unclear>().push_back(unclear);
  return {};
}

using PairKey = std::tuple<std::string, std::string>;  // communicator, id

std::vector<PairRow> Pair(std::span<const RankPart> ranks, const Clocks& clocks) {
  std::map<PairKey, PairRow> pairs;
  for (const RankPart& rank : ranks) {
    for (const Transfer& one : rank.part.Rows<Transfer>()) {
      if (one.row.id.empty()) continue;
      PairRow& pair = pairs[{one.group_name, one.row.id}];
      pair.id = one.row.id;
      pair.group_name = one.group_name;
      (one.is_receive ? pair.to : pair.from) = one.row.rank;
      (one.is_receive ? pair.receive_ns : pair.send_ns) = one.row.begin_ns - clocks.Of(rank.rank);
    }
  }
  std::vector<PairRow> rows;
  for (auto& [key, pair] : pairs) {
    const bool is_whole = pair.from >= 0 && pair.to >= 0;
    pair.lag_ns = is_whole ? static_cast<double>(pair.receive_ns - pair.send_ns)
                           : std::numeric_limits<double>::quiet_NaN();
    rows.push_back(std::move(pair));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const PairRow& a, const PairRow& b) {
    return std::max(a.send_ns, a.receive_ns) < std::max(b.send_ns, b.receive_ns);
  });
  return rows;
}

void ReportPairs(const std::vector<PairRow>& pairs, Outcome& outcome) {
  std::map<std::pair<int64_t, int64_t>, std::vector<double>> lags;  // by ranks
  size_t whole = 0;
  for (const PairRow& pair : pairs) {
    if (std::isnan(pair.lag_ns)) continue;
    ++whole;
    lags[{pair.from, pair.to}].push_back(pair.lag_ns);
  }
  AddFinding(
      outcome, "cluster.p2p_pairs",
      {std::to_string(pairs.size()), std::to_string(whole), std::to_string(pairs.size() - whole)},
      kPairs);
  const auto worst = std::max_element(lags.begin(), lags.end(), [](const auto& a, const auto& b) {
    return std::abs(Mean(a.second)) < std::abs(Mean(b.second));
  });
  if (worst == lags.end()) return;
  constexpr double kNoticeableNs = 1000;  // clocks of two machines agree no better
  const double mean = Mean(worst->second);
  if (std::abs(mean) < kNoticeableNs) return;
  const bool receiver_waits = mean < 0;
  const auto& [from, to] = worst->first;
  recipes::Finding& finding = AddFinding(
      outcome, "cluster.p2p_lag",
      {std::to_string(receiver_waits ? from : to), std::to_string(receiver_waits ? to : from),
       Duration(std::abs(mean)), std::to_string(worst->second.size())},
      kPairs);
  finding.value = std::abs(mean);
  finding.unit = "ns";
}

Status ReduceP2pPairing(std::span<const RankPart> ranks, const ModeOptions& options,
                        Outcome& outcome) {
  std::vector<P2pRow> rows;
  for (const RankPart& rank : ranks) {
    for (const Transfer& transfer : rank.part.Rows<Transfer>()) rows.push_back(transfer.row);
    for (const Unclear& unclear : rank.part.Rows<Unclear>()) {
      outcome.notices.push_back(Concat("rank ", std::to_string(rank.rank), ": of ",
                                       std::to_string(unclear.count),
                                       " sends and receives the other rank is not known "
                                       "(--profile-level level1 records it)"));
    }
  }
  const Clocks clocks = FindClocks(ranks, options, outcome);
  const std::vector<PairRow> pairs = Pair(ranks, clocks);

  outcome.tables = {TableOf(kP2p, rows), TableOf(kPairs, pairs)};
  if (!clocks.rows.empty()) outcome.tables.push_back(TableOf(kHostClocks, clocks.rows));
  ReportPairs(pairs, outcome);
  return {};
}

constexpr std::array kP2pPairingTables = {&kP2p, &kPairs, &kHostClocks};
constexpr std::array kP2pPairingOptions = {&kKeepClocks};

}  // namespace

extern const Mode kP2pPairingMode;
constexpr Mode kP2pPairingMode = {
    .name = "p2p_pairing",
    .folder = "P2PPairing",
    .summary = "Which send belongs to which receive, and who waits for whom",
    .tables = kP2pPairingTables,
    .needs =
        recipes::Reads<store::CommunicationOpRow, store::CommunicationGroupRow>().WithBounds() |
        recipes::HostCallNeeds(),
    .wants =
        "sends and receives between two ranks (a pipeline, recorded with --profile-level "
        "level1)",
    .options = kP2pPairingOptions,
    .map = &MapP2pPairing,
    .reduce = &ReduceP2pPairing};

}  // namespace sonde::cluster
