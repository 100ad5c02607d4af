#include "precision/overflow_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/analysis/first_node.h"
#include "precision/analysis/not_finite.h"
#include "precision/dump/dump_folder.h"
#include "precision/dump/dump_tree.h"
#include "precision/dump/json_scanner.h"
#include "precision/dump/pretty_json.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

bool BeginsOverflow(const DumpFile& dump, const DumpApi& api) {
  const NotFinite state = NotFiniteOf(dump, api).state;
  return state == NotFinite::kBegins || state == NotFinite::kInWeight;
}

RankTimeline OverflowTimeline(const DumpFile& dump, int64_t rank) {
  RankTimeline timeline;
  timeline.rank = rank;
  for (const DumpApi& api : dump.apis()) {
    TimelineCall& call = timeline.calls.emplace_back();
    call.name = api.name;
    call.wrong = BeginsOverflow(dump, api);
    call.is_communication = IsCommunicationPhaseName(api.name);
    if (call.is_communication) call.communication = ReadCommunication(dump, api);
  }
  return timeline;
}

// The member `key` of a call's entry; what is absent is an empty list or object.
std::string_view Member(const DumpApi& api, std::string_view key) {
  JsonScanner json(api.raw, "entry");
  if (json.Peek() == JsonScanner::Kind::kObject) {
    json.BeginObject();
    for (std::string_view name; json.NextKey(&name);) {
      const bool found = name == key;
      const std::string_view raw = json.SkipValue();
      if (found) return raw;
    }
  }
  return key == "input_kwargs" ? "{}" : "[]";
}

// From the outermost module to the call.
std::vector<std::string_view> ChainOf(const ConstructFile& tree, std::string_view name) {
  std::vector<std::string_view> chain = {name};
  std::set<std::string_view> seen = {name};
  for (const ConstructEntry* entry = tree.Find(name);
       entry != nullptr && !entry->parent.empty() && seen.insert(entry->parent).second;
       entry = tree.Find(entry->parent)) {
    chain.push_back(entry->parent);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

void AppendList(const std::vector<std::string>& texts, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendJsonText(texts[i], out);
  }
  *out += ']';
}

std::string CallJson(const DumpFolder& folder, const DumpApi& api) {
  std::string out = "{\"op_name\": ";
  AppendJsonText(api.name, &out);
  out += ", \"data_info\": {";
  const bool forward = api.name.find("forward") != std::string_view::npos;
  if (forward) {
    out += Concat("\"input_args\": ", Member(api, "input_args"),
                  ", \"input_kwargs\": ", Member(api, "input_kwargs"));
  } else {
    out += Concat("\"input\": ", Member(api, "input"));
  }
  out += Concat(", \"output\": ", Member(api, "output"), "}, \"construct_info\": ");
  const auto chain = ChainOf(*folder.construct, api.name);
  AppendList({chain.begin(), chain.end()}, &out);
  out += ", \"stack_info\": ";
  const int32_t stack = folder.stack->Find(api.name);
  if (stack == StackFile::kNoStack) {
    out += "{}";
  } else {
    AppendList(folder.stack->Frames(stack), &out);
  }
  return out + "}";
}

struct DumpedRank {
  DumpFolder folder;
  RankTimeline timeline;
};

Status LoadRank(const RankFolder& where, std::vector<DumpedRank>* ranks,
                std::vector<std::string>* notes) {
  DumpedRank rank;
  SONDE_ASSIGN_OR_RETURN(rank.folder, LoadDumpFolder(JoinPath(where.path, "dump.json"), "", notes));
  rank.timeline = OverflowTimeline(*rank.folder.dump, std::max<int64_t>(where.rank, 0));
  ranks->push_back(std::move(rank));
  return Status::Ok();
}

// {"rank_0": [call, ...]}
std::string ReportOf(const std::vector<DumpedRank>& ranks, const std::vector<FoundCall>& found) {
  std::map<int64_t, std::string> by_rank;
  for (const FoundCall& call : found) {
    const DumpedRank& rank = ranks[call.timeline];
    std::string& text = by_rank[rank.timeline.rank];
    if (!text.empty()) text += ", ";
    text += CallJson(rank.folder, rank.folder.dump->apis()[call.call]);
  }
  std::string out = "{";
  for (const auto& [rank, text] : by_rank) {
    if (out.size() > 1) out += ", ";
    out += Concat("\"rank_", std::to_string(rank), "\": [", text, "]");
  }
  return PrettyJson(out + "}", 2);
}

}  // namespace

Result<OverflowOutcome> FindFirstOverflow(const std::string& input_path,
                                          const std::string& output_path) {
  SONDE_ASSIGN_OR_RETURN(const DumpTree tree, FindDumps(input_path));
  if (tree.granularity != Granularity::kStep && tree.granularity != Granularity::kRank) {
    return base::InvalidArgumentError(Concat(
        input_path, " is no step: the search looks at the ranks of one step, such as dump/step0"));
  }
  OverflowOutcome out;
  std::vector<DumpedRank> ranks;
  Status first_error;
  for (const RankFolder& where : tree.ranks) {
    Status status = LoadRank(where, &ranks, &out.notes);
    if (status.ok()) continue;
    if (tree.ranks.size() > 1) {
      out.notes.push_back(Concat(where.path, " is left out: ", status.message()));
    }
    if (first_error.ok()) first_error = std::move(status);
  }
  if (ranks.empty()) return first_error;
  std::vector<RankTimeline> timelines;
  for (const DumpedRank& rank : ranks) timelines.push_back(rank.timeline);
  const auto found = FindFirstNodes(timelines, {.one_in_communication_phase = true});
  for (const FoundCall& call : found) {
    out.found.push_back(Concat("rank ", std::to_string(timelines[call.timeline].rank), ": ",
                               timelines[call.timeline].calls[call.call].name));
  }
  if (found.empty()) return out;
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(output_path));
  out.file = JoinPath(output_path,
                      Concat("anomaly_analyze_", std::to_string(base::RealtimeNs()), ".json"));
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(out.file, ReportOf(ranks, found)));
  return out;
}

}  // namespace sonde::precision
