// The JSON files of the text form.
#include <algorithm>
#include <set>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using base::JsonWriter;

JsonWriter Writer() { return JsonWriter(nullptr, JsonWriter::Style::kPythonDefault); }

void Member(JsonWriter& json, std::string_view key, double value) {
  json.Key(key);
  json.Double(value);
}

// Ranks that were seen of a group, by its kind and hash.
using RankSets = std::map<std::pair<bool, std::string>, std::string>;

RankSets SetsOf(const std::vector<KnownGroup>& groups) {
  RankSets sets;
  for (const KnownGroup& group : groups) {
    sets[{group.is_p2p, group.hash}] = TupleText(group.observed, ", ");
  }
  return sets;
}

struct Traffic {
  double time_ms = 0;
  double size_mb = 0;
  double bandwidth = 0;
  double large_ratio = 0;
  std::map<double, std::pair<int64_t, double>> sizes;
};

// An operation of a rank, or the sum of all of a group.
struct Op {
  DeliveredTime time;
  std::map<std::string, Traffic> traffic;  // by kind of link
};
using OpsOfRank = std::map<int32_t, Op>;
using OpsOfStep = std::map<std::string, OpsOfRank>;                   // by "op@group"
using Ops = std::map<std::string, std::map<std::string, OpsOfStep>>;  // by rank set, step

void Add(const DeliveredTime& time, DeliveredTime& sum) {
  sum.elapse_ms += time.elapse_ms;
  sum.transit_ms += time.transit_ms;
  sum.wait_ms += time.wait_ms;
  sum.synchronization_ms += time.synchronization_ms;
  sum.idle_ms += time.idle_ms;
}

void AddTraffic(const DeliveredBandwidth& link, bool is_new, Traffic& sum) {
  if (is_new) {
    sum.time_ms += link.time_ms;
    sum.size_mb += link.size_mb;
  }
  sum.bandwidth = link.bandwidth;
  sum.large_ratio = link.large_packet_ratio;
  if (link.count == 0 && link.package_mb == 0) return;
  auto& size = sum.sizes[link.package_mb];
  size.first += link.count;
  size.second += link.duration_ms;
}

void TakeRank(const RankPart& rank, const RankSets& sets, Ops& ops) {
  const auto place = [&](bool is_p2p, const std::string& group, const std::string& step,
                         std::string_view op) -> Op* {
    const auto set = sets.find({is_p2p, group});
    if (set == sets.end()) return nullptr;
    return &ops[set->second][step][Concat(op, "@", group)][rank.rank];
  };
  for (const DeliveredTime& time : rank.part.Rows<DeliveredTime>()) {
    place(time.is_p2p, time.group, time.step, time.op)->time = time;
    Add(time, place(time.is_p2p, time.group, time.step, kTotal)->time);
  }
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
  for (const DeliveredBandwidth& link : rank.part.Rows<DeliveredBandwidth>()) {
    Op* op = place(link.is_p2p, link.group, link.step, link.op);
    if (op == nullptr) continue;
    const bool is_new = seen.emplace(link.step, link.group, link.op, link.transport).second;
    AddTraffic(link, is_new, op->traffic[link.transport]);
    AddTraffic(link, is_new,
               place(link.is_p2p, link.group, link.step, kTotal)->traffic[link.transport]);
  }
}

void WriteTimes(const DeliveredTime& time, bool is_total, JsonWriter& json) {
  json.Key("Communication Time Info");
  json.BeginObject();
  if (!is_total) Member(json, "Start Timestamp(us)", time.start_us);
  Member(json, "Elapse Time(ms)", time.elapse_ms);
  Member(json, "Transit Time(ms)", time.transit_ms);
  Member(json, "Wait Time(ms)", time.wait_ms);
  Member(json, "Synchronization Time(ms)", time.synchronization_ms);
  Member(json, "Idle Time(ms)", time.idle_ms);
  Member(json, "Wait Time Ratio", RatioOf(time.wait_ms, time.transit_ms));
  Member(json, "Synchronization Time Ratio", RatioOf(time.synchronization_ms, time.transit_ms));
  json.EndObject();
}

void WriteTraffic(const std::map<std::string, Traffic>& links, bool is_total, JsonWriter& json) {
  json.Key("Communication Bandwidth Info");
  json.BeginObject();
  for (const auto& [name, traffic] : links) {
    json.Key(name);
    json.BeginObject();
    Member(json, "Transit Size(MB)", traffic.size_mb);
    Member(json, "Transit Time(ms)", traffic.time_ms);
    const double ratio = traffic.time_ms > 0 ? Round(traffic.size_mb / traffic.time_ms, 4) : 0;
    Member(json, "Bandwidth(GB/s)", is_total ? ratio : traffic.bandwidth);
    if (!is_total) Member(json, "Large Packet Ratio", traffic.large_ratio);
    json.Key("Size Distribution");
    json.BeginObject();
    for (const auto& [size, counts] : traffic.sizes) {
      json.Key(base::PythonDoubleText(size));
      json.BeginArray();
      json.Int(counts.first);
      json.Double(counts.second);
      json.EndArray();
    }
    json.EndObject();
    json.EndObject();
  }
  json.EndObject();
}

void WriteRanks(const std::vector<int32_t>& ranks, JsonWriter& json) {
  json.BeginArray();
  for (const int32_t rank : ranks) json.Int(rank);
  json.EndArray();
}

// Ranks of all groups of a kind, each set once.
void WriteSets(const std::vector<KnownGroup>& groups, bool is_p2p, JsonWriter& json) {
  std::set<std::vector<int32_t>> sets;
  for (const KnownGroup& group : groups) {
    if (group.is_p2p == is_p2p) sets.insert(group.observed);
  }
  json.Key(is_p2p ? "p2p" : "collective");
  json.BeginArray();
  for (const auto& ranks : sets) WriteRanks(ranks, json);
  json.EndArray();
}

}  // namespace

std::string CommunicationJson(Ranks ranks, const std::vector<KnownGroup>& groups) {
  Ops ops;
  const RankSets sets = SetsOf(groups);
  for (const RankPart& rank : ranks) TakeRank(rank, sets, ops);
  JsonWriter json = Writer();
  json.BeginObject();
  for (const auto& [set, steps] : ops) {
    json.Key(set);
    json.BeginObject();
    for (const auto& [step, names] : steps) {
      json.Key(step);
      json.BeginObject();
      for (const auto& [name, of_ranks] : names) {
        const bool is_total = name.starts_with(kTotal);
        json.Key(name);
        json.BeginObject();
        for (const auto& [rank, op] : of_ranks) {
          json.Key(std::to_string(rank));
          json.BeginObject();
          WriteTimes(op.time, is_total, json);
          WriteTraffic(op.traffic, is_total, json);
          json.EndObject();
        }
        json.EndObject();
      }
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

namespace {

void WriteLink(const GlobalLink& link, JsonWriter& json) {
  json.Key(Concat(std::to_string(link.src), "-", std::to_string(link.dst)));
  json.BeginObject();
  json.Key("Transport Type");
  json.String(link.transport);
  Member(json, "Transit Time(ms)", link.time_ms);
  Member(json, "Transit Size(MB)", link.size_mb);
  json.Key("Op Name");
  json.String(link.op_name);
  Member(json, "Bandwidth(GB/s)", link.time_ms > 0 ? Round(link.size_mb / link.time_ms, 4) : 0);
  json.EndObject();
}

bool IsChoice(std::string_view op) {
  return op.find("middle") != std::string_view::npos || op.find("top") != std::string_view::npos ||
         op.find("bottom") != std::string_view::npos;
}

}  // namespace

std::string MatrixJson(const std::vector<KnownGroup>& groups, const GlobalLinks& links) {
  using LinksOfOp = std::map<std::pair<int32_t, int32_t>, GlobalLink>;
  std::map<std::string, std::map<std::string, std::map<std::string, LinksOfOp>>> all;
  const RankSets sets = SetsOf(groups);
  for (const GlobalLink& link : links.links) {
    const auto set = sets.find({link.is_p2p, link.group});
    auto& ops = all[set == sets.end() ? "()" : set->second][link.step];
    const std::pair ends(link.src, link.dst);
    ops[Concat(link.op, "@", link.group)].emplace(ends, link);
    if (IsChoice(link.op)) continue;
    GlobalLink& sum = ops[Concat(kTotal, "@", link.group)][ends];
    GlobalLink added = link;
    added.op_name.clear();
    added.size_mb += sum.size_mb;
    added.time_ms += sum.time_ms;
    sum = added;
  }
  JsonWriter json = Writer();
  json.BeginObject();
  for (const auto& [set, steps] : all) {
    json.Key(set);
    json.BeginObject();
    for (const auto& [step, ops] : steps) {
      json.Key(step);
      json.BeginObject();
      for (const auto& [op, ends] : ops) {
        json.Key(op);
        json.BeginObject();
        for (const auto& [key, link] : ends) WriteLink(link, json);
        json.EndObject();
      }
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

std::string GroupJson(const std::vector<KnownGroup>& groups) {
  JsonWriter json = Writer();
  json.BeginObject();
  WriteSets(groups, false, json);
  WriteSets(groups, true, json);
  json.Key("comm_group_parallel_info");
  json.BeginArray();
  for (const KnownGroup& group : groups) {
    json.BeginObject();
    json.Key("type");
    json.String(group.is_p2p ? "p2p" : "collective");
    json.Key("rank_set");
    WriteRanks(group.ranks, json);
    json.Key("group_name");
    json.String(group.hash);
    json.Key("group_id");
    json.String(group.id);
    json.Key("pg_name");
    json.String(group.pg_name);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace sonde::cluster
