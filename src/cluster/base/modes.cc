// The modes of this folder: which tables and files each of them makes.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/count_of.h"
#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/slow_rank/reasons.h"

namespace sonde::cluster {
namespace {

using base::Concat;

template <class Row>
void Move(std::vector<Row>& from, Part& part) {
  std::vector<Row>& to = part.Rows<Row>();
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

void Keep(Delivered delivered, Part& part) {
  if (delivered.empty()) return;
  part.Rows<DeliveredFacts>().push_back(std::move(delivered.facts));
  Move(delivered.steps, part);
  Move(delivered.times, part);
  Move(delivered.bandwidths, part);
  Move(delivered.links, part);
  Move(delivered.groups, part);
}

Result<bool> MapFiles(const RankFiles& rank, Part& part) {
  SONDE_ASSIGN_OR_RETURN(Delivered delivered, ReadDelivered(rank.path));
  if (delivered.empty()) return false;
  Keep(std::move(delivered), part);
  return true;
}

Status Map(const RankInput& rank, Part& part) {
  Keep(ComputeDelivered(rank.view), part);
  return {};
}

void AddTable(Table table, Outcome& outcome) {
  if (table.rows() > 0) outcome.tables.push_back(std::move(table));
}

template <class Rows>
void AddTable(const TableInfo& info, const Rows& rows, Outcome& outcome) {
  AddTable(TableOf(info, rows), outcome);
}

void AddTimes(Ranks ranks, Outcome& outcome) {
  AddTable(TimeTable(ranks), outcome);
  AddTable(BandwidthTable(ranks), outcome);
  ReportWaits(ranks, outcome);
}

void AddMatrix(const GlobalLinks& links, Outcome& outcome) {
  AddTable(kClusterMatrix, MatrixRows(links), outcome);
  ReportLinks(links, outcome);
  for (const auto& [group, count] : links.unmapped) {
    outcome.notices.push_back(Concat("group ", group, ": ",
                                     base::CountOf(count, "link leads", "links lead"),
                                     " to ranks without a known global number, left out of the "
                                     "matrix"));
  }
}

void AddFacts(Ranks ranks, Outcome& outcome) {
  std::set<std::pair<std::string, std::string>> hosts;
  std::vector<RankDeviceRow> devices;
  std::vector<BaseInfoRow> facts_of_job;
  for (const RankPart& rank : ranks) {
    for (const DeliveredFacts& facts : rank.part.Rows<DeliveredFacts>()) {
      if (facts_of_job.empty() && !facts.distributed_args.empty()) {
        facts_of_job.push_back({.key = "distributed_args", .value = facts.distributed_args});
      }
      if (facts.host_uid.empty() && facts.host_name.empty()) continue;
      hosts.emplace(facts.host_uid, facts.host_name);
      devices.push_back({.rank = rank.rank,
                         .device_id = facts.device_id,
                         .host_uid = facts.host_uid,
                         .path = rank.path});
    }
  }
  std::vector<HostInfoRow> rows;
  for (const auto& [uid, name] : hosts) rows.push_back({.host_uid = uid, .host_name = name});
  AddTable(kHostInfo, rows, outcome);
  AddTable(kRankDevice, devices, outcome);
  AddTable(kBaseInfo, facts_of_job, outcome);
}

// As the tables in a folder of results have them. Of analysis.db alone msprof-analyze does not read
// what groups are called, and so knows no stages: the rest is for sentences, texts, SQL
// and the page.
std::vector<KnownGroup> GroupsOfTables(Ranks ranks, const ModeOptions& options,
                                       std::vector<KnownGroup> groups) {
  const bool has_names = options.result_folder.empty() ||
                         std::none_of(ranks.begin(), ranks.end(), [](const auto& rank) {
                           const auto& facts = rank.part.template Rows<DeliveredFacts>();
                           return !facts.empty() && facts.front().has_only_analysis;
                         });
  if (has_names) return groups;
  for (KnownGroup& group : groups) {
    group.id.clear();
    group.pg_name.clear();
    group.ranks = group.observed;
  }
  return groups;
}

bool AreTexts(Ranks ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const RankPart& rank) {
    const auto& facts = rank.part.Rows<DeliveredFacts>();
    return !facts.empty() && facts.front().is_text;
  });
}

struct Wanted {
  bool times = true;
  bool matrix = true;
};

Status Base(Ranks ranks, const ModeOptions& options, Wanted wanted, Outcome& outcome) {
  const std::vector<KnownGroup> groups = GroupsOf(ranks);
  ReportNamesOfGroups(ranks, outcome);
  outcome.prefers_text = AreTexts(ranks);
  ReportSteps(ranks, outcome);
  const std::vector<KnownGroup> of_tables = GroupsOfTables(ranks, options, groups);
  outcome.tables.push_back(StepTable(ranks, of_tables));
  AddTable(kGroupMap, GroupRows(of_tables), outcome);
  AddFacts(ranks, outcome);
  outcome.texts = {
      {"cluster_step_trace_time.csv", [ranks, groups] { return StepCsv(ranks, groups); }},
      {"communication_group.json", [groups] { return GroupJson(groups); }}};
  if (wanted.times) {
    AddTimes(ranks, outcome);
    if (!groups.empty()) {
      outcome.texts.push_back({"cluster_communication.json",
                               [ranks, groups] { return CommunicationJson(ranks, groups); }});
    }
  }
  if (wanted.matrix) {
    const GlobalLinks links = LinksOf(ranks);
    AddMatrix(links, outcome);
    if (!links.links.empty()) {
      outcome.texts.push_back({"cluster_communication_matrix.json",
                               [ranks, groups] { return MatrixJson(groups, LinksOf(ranks)); }});
    }
  }
  return {};
}

Status ReduceAll(Ranks ranks, const ModeOptions& options, Outcome& outcome) {
  SONDE_RETURN_IF_ERROR(Base(ranks, options, {}, outcome));
  ModeOptions of_all_steps = options;  // as its tables are
  of_all_steps.step_id = -1;
  return LookCloser(ranks, GroupsOf(ranks), of_all_steps, outcome);
}

Status ReduceTime(Ranks ranks, const ModeOptions& options, Outcome& outcome) {
  return Base(ranks, options, {.matrix = false}, outcome);
}

Status ReduceMatrix(Ranks ranks, const ModeOptions& options, Outcome& outcome) {
  return Base(ranks, options, {.times = false}, outcome);
}

Status ReduceGroups(Ranks ranks, const ModeOptions& options, Outcome& outcome) {
  const std::vector<KnownGroup> groups = GroupsOf(ranks);
  ReportNamesOfGroups(ranks, outcome);
  AddTable(kGroupMap, GroupRows(GroupsOfTables(ranks, options, groups)), outcome);
  ReportGroups(groups, outcome);
  return {};
}

Status ReduceTimeSum(Ranks ranks, const ModeOptions& options, Outcome& outcome) {
  AddTable(kGroupMap, GroupRows(GroupsOfTables(ranks, options, GroupsOf(ranks))), outcome);
  AddTimes(ranks, outcome);
  return {};
}

Status ReduceMatrixSum(Ranks ranks, const ModeOptions& /*options*/, Outcome& outcome) {
  AddMatrix(LinksOf(ranks), outcome);
  return {};
}

constexpr std::array kAllTables = {&kClusterStep,      &kGroupMap,      &kClusterTime,
                                   &kClusterBandwidth, &kClusterMatrix, &kHostInfo,
                                   &kRankDevice,       &kBaseInfo,      &kSlowCause};
constexpr std::array kTimeTables = {&kClusterStep, &kGroupMap,   &kClusterTime, &kClusterBandwidth,
                                    &kHostInfo,    &kRankDevice, &kBaseInfo};
constexpr std::array kMatrixTables = {&kClusterStep, &kGroupMap,   &kClusterMatrix,
                                      &kHostInfo,    &kRankDevice, &kBaseInfo};
constexpr std::array kGroupTables = {&kGroupMap};
constexpr std::array kTimeSumTables = {&kGroupMap, &kClusterTime, &kClusterBandwidth};
constexpr std::array kMatrixSumTables = {&kClusterMatrix};
constexpr std::array<std::string_view, 4> kTexts = {
    "cluster_step_trace_time.csv", "communication_group.json", "cluster_communication.json",
    "cluster_communication_matrix.json"};
constexpr std::string_view kWants =
    "steps or communication (a recording with steps; for communication --profile-level level1)";
constexpr std::string_view kWantsTimes = "communication operations (--profile-level level1)";

constexpr Mode ModeOf(std::string_view name, std::string_view folder, std::string_view summary,
                      std::span<const TableInfo* const> tables,
                      std::span<const std::string_view> texts, decltype(Mode::reduce) reduce) {
  return {.name = name,
          .folder = folder,
          .summary = summary,
          .tables = tables,
          .needs = DeliveredNeeds(),
          .wants = texts.empty() ? kWantsTimes : kWants,
          .texts = texts,
          .takes_all_steps = true,
          .map_files = &MapFiles,
          .map = &Map,
          .reduce = reduce};
}

}  // namespace

extern const Mode kAllMode;
extern const Mode kCommunicationTimeMode;
extern const Mode kCommunicationMatrixMode;
extern const Mode kCommunicationGroupMapMode;
extern const Mode kCommunicationTimeSumMode;
extern const Mode kCommunicationMatrixSumMode;
constexpr Mode kAllMode = ModeOf("all", "All", "Steps, communication, links, groups and hosts",
                                 kAllTables, kTexts, &ReduceAll);
constexpr Mode kCommunicationTimeMode =
    ModeOf("communication_time", "CommunicationTime", "The same without links", kTimeTables, kTexts,
           &ReduceTime);
constexpr Mode kCommunicationMatrixMode =
    ModeOf("communication_matrix", "CommunicationMatrix", "The same without times of operations",
           kMatrixTables, kTexts, &ReduceMatrix);
constexpr Mode kCommunicationGroupMapMode =
    ModeOf("communication_group_map", "CommunicationGroupMap", "Groups of ranks that communicate",
           kGroupTables, {}, &ReduceGroups);
constexpr Mode kCommunicationTimeSumMode =
    ModeOf("communication_time_sum", "CommunicationTimeSum",
           "Times and traffic of communication operations and their sums", kTimeSumTables, {},
           &ReduceTimeSum);
constexpr Mode kCommunicationMatrixSumMode =
    ModeOf("communication_matrix_sum", "CommMatrixSum", "Transfers between ranks and their sums",
           kMatrixSumTables, {}, &ReduceMatrixSum);

}  // namespace sonde::cluster
