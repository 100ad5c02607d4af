#include "precision/graph_job.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/analysis/first_node.h"
#include "precision/compare/compare.h"
#include "precision/dump/dump_tree.h"
#include "precision/graph/node_json.h"
#include "precision/graph/vis_db.h"
#include "precision/mapping/layer_mapping.h"
#include "precision/output/result_store.h"
#include "precision/parallel/merged_dump.h"
#include "precision/parallel/merged_side.h"
#include "precision/tensor/tensor_comparison.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

// The communications of one side of one step; texts are kept, the graphs are not.
struct StepCommunications {
  std::deque<std::string> names;
  std::vector<RankTimeline> timelines;
  std::map<std::pair<int64_t, std::string>, std::string> states;
};

class GraphRun {
 public:
  explicit GraphRun(const GraphOptions& options) : options_(options) {}
  Result<GraphOutcome> Run();

 private:
  Status RunPair(const RankFolder& target, const RankFolder* golden);
  Status RunPairs(std::vector<RankPair> pairs, bool compare);
  Status RunMerged(const DumpTree& target, const DumpTree& golden, bool compare);
  Result<GraphOutcome> WriteDumps(const DumpTree& target);
  Status RunMergedStep(const MergedSide& target, MergedSide* golden);
  bool merges() const { return options_.target_layout.rank_size > 0; }
  Status BuildOne(const RankFolder& rank, const Graph& graph,
                  const std::vector<std::string>* merge_info = nullptr);
  Status CompareTwo(const RankPair& pair, const Graph& target, Graph* golden,
                    const MergedGraph* target_merge = nullptr,
                    const MergedGraph* golden_merge = nullptr);
  Result<NodeResults> CompareNodes(const RankPair& pair, const Graph& target, const Graph& golden,
                                   const NodeMatches& matches, bool cross);
  Status AddViews(std::vector<VisGraph> views);
  Result<MatchOptions> MakeMatching(const Graph& target, const Graph& golden, bool cross);
  void NoteCommunications(const VisGraph& graph);
  void WriteCommunications();
  void Count(const Graph& graph, const NodeMatches& matches, const NodeResults& results);
  void CountOverflow(const Graph& graph, const std::vector<Overflow>& levels);
  void Progress(int percent) const {
    if (options_.progress) options_.progress(percent);
  }

  const GraphOptions& options_;
  std::unique_ptr<VisDbWriter> db_;
  std::unique_ptr<ResultStore> store_;  // when asked for
  VisConfig config_;
  std::set<int64_t> steps_;
  std::set<int64_t> ranks_;
  std::map<std::pair<std::string, int64_t>, StepCommunications> communications_;
  MappingUse mapping_use_;  // of all pairs: stages have other layers
  GraphOutcome outcome_;
  Status write_error_;  // of the database; ends the job
};

std::string StateOf(const VisGraph& graph, size_t index) {
  std::string_view text;
  if (graph.overflow != nullptr) {
    text = OverflowText((*graph.overflow)[index]);
  } else if (graph.results != nullptr && (*graph.matches)[index] != kNoNode) {
    text = PrecisionText(graph.results->precision[index]);
  }
  return text.empty() ? "Nan" : std::string(text);
}

void GraphRun::NoteCommunications(const VisGraph& graph) {
  StepCommunications& step = communications_[{std::string(graph.source), graph.step}];
  RankTimeline timeline;
  timeline.rank = graph.rank;
  const DumpFile& dump = *graph.graph->dump().dump;
  for (const int32_t index : graph.graph->post_order()) {
    const GraphNode& node = graph.graph->node(index);
    if (!IsCommunicationName(node.name) || node.api == kNoNode ||
        node.name.find("backward") != std::string_view::npos) {
      continue;
    }
    step.names.emplace_back(node.name);
    TimelineCall& call = timeline.calls.emplace_back();
    call.name = step.names.back();
    call.is_communication = true;
    call.communication = ReadCommunication(dump, dump.apis()[static_cast<size_t>(node.api)]);
    step.states[{graph.rank, step.names.back()}] = StateOf(graph, static_cast<size_t>(index));
  }
  step.timelines.push_back(std::move(timeline));
}

void GraphRun::WriteCommunications() {
  struct Partners {
    bool sends = false;
    bool receives = false;
    std::map<int64_t, std::string> by_rank;  // JSON of [state, name]
  };
  for (auto& [key, step] : communications_) {
    std::map<std::pair<size_t, size_t>, Partners> partners;
    const auto add = [&](const FoundCall& self, const FoundCall& other, bool sends) {
      Partners& found = partners[{self.timeline, self.call}];
      (sends ? found.sends : found.receives) = true;
      const int64_t rank = step.timelines[other.timeline].rank;
      const std::string name(step.timelines[other.timeline].calls[other.call].name);
      found.by_rank[rank] = JsonList({step.states[{rank, name}], name});
    };
    for (const CommunicationLink& link : LinkCommunications(step.timelines)) {
      add(link.from, link.to, true);
      add(link.to, link.from, false);
    }
    for (const auto& [place, found] : partners) {
      const RankTimeline& timeline = step.timelines[place.first];
      std::string json = Concat("{\"communications_type\": \"",
                                found.sends && found.receives ? "send_receive"
                                : found.sends                 ? "send"
                                                              : "receive",
                                "\", \"nodes_info\": {");
      bool first = true;
      for (const auto& [rank, text] : found.by_rank) {
        json += Concat(first ? "\"" : ", \"", std::to_string(rank), "\": ", text);
        first = false;
      }
      db_->SetCommunication(key.first, key.second, timeline.rank, timeline.calls[place.second].name,
                            json + "}}");
    }
  }
}

void GraphRun::CountOverflow(const Graph& graph, const std::vector<Overflow>& levels) {
  for (const int32_t index : graph.post_order()) {
    switch (levels[static_cast<size_t>(index)]) {
      case Overflow::kCritical:
        if (outcome_.first_bad.empty()) outcome_.first_bad = graph.node(index).name;
        ++outcome_.critical;
        break;
      case Overflow::kHigh:
        ++outcome_.high;
        break;
      case Overflow::kMedium:
        ++outcome_.medium;
        break;
      case Overflow::kNone:
        break;
    }
  }
}

void GraphRun::Count(const Graph& graph, const NodeMatches& matches, const NodeResults& results) {
  for (const int32_t index : graph.post_order()) {
    const auto at = static_cast<size_t>(index);
    if (matches[at] == kNoNode) continue;
    ++outcome_.matched;
    const Precision precision = results.precision[at];
    if (precision == Precision::kPass) ++outcome_.pass;
    if (precision == Precision::kWarning) ++outcome_.warning;
    if (precision == Precision::kError) ++outcome_.error;
    if (precision > Precision::kPass && outcome_.first_bad.empty() &&
        graph.node(index).type != NodeType::kApiList) {
      outcome_.first_bad = graph.node(index).name;
    }
  }
}

// The folder of tensor files next to the dump, wherever the dump was moved to.
std::string DataFolder(const RankFolder& rank, const DumpFile& dump) {
  if (dump.dump_data_dir().empty()) return {};
  const std::string here = base::AbsolutePath(rank.path);
  return base::DirName(dump.dump_data_dir()) == here ? dump.dump_data_dir()
                                                     : JoinPath(here, "dump_tensor_data");
}

VisGraph MakeView(const RankFolder& rank, const Graph& graph) {
  VisGraph view;
  view.graph = &graph;
  view.step = rank.step;
  view.rank = std::max<int64_t>(rank.rank, 0);
  view.data_folder = DataFolder(rank, *graph.dump().dump);
  return view;
}

// The graphs of one rank into the database, with the results of the overflow check.
Status GraphRun::AddViews(std::vector<VisGraph> views) {
  std::vector<std::vector<Overflow>> overflow(views.size());
  for (size_t i = 0; i < views.size() && options_.overflow_check; ++i) {
    overflow[i] = CheckOverflow(*views[i].graph);
    views[i].overflow = &overflow[i];
    if (views[i].source == "NPU") CountOverflow(*views[i].graph, overflow[i]);
  }
  write_error_ = db_->AddRank(views);
  for (const VisGraph& view : views) {
    if (write_error_.ok() && store_ != nullptr) write_error_ = store_->AddGraph(view);
    if (write_error_.ok() && !merges()) NoteCommunications(view);
  }
  return write_error_;
}

Status GraphRun::BuildOne(const RankFolder& rank, const Graph& graph,
                          const std::vector<std::string>* merge_info) {
  outcome_.target_nodes += graph.nodes().size();
  config_.micro_steps = std::max(config_.micro_steps, graph.micro_step_count());
  VisGraph view = MakeView(rank, graph);
  view.merge_info = merge_info;
  return AddViews({view});
}

Result<MatchOptions> GraphRun::MakeMatching(const Graph& target, const Graph& golden, bool cross) {
  MatchOptions out;
  out.fuzzy = options_.fuzzy_match || merges();
  out.ignore_ranks = merges();
  if (!options_.layer_mapping) {
    if (!cross) return out;
    return base::InvalidArgumentError(
        "the dumps come from two frameworks; graphs of them are matched with -lm only");
  }
  LayerMapping layers;
  if (!options_.layer_mapping->empty()) {
    SONDE_ASSIGN_OR_RETURN(layers, LayerMapping::Load(*options_.layer_mapping));
  }
  auto names = std::make_shared<LayerMapping::Names>(
      layers.MatchCalls(*target.dump().dump, *target.dump().construct, *golden.dump().dump,
                        *golden.dump().construct, &mapping_use_));
  out.map_name = [names](std::string_view name) {
    const auto found = names->find(name);
    return found == names->end() ? std::string() : found->second;
  };
  return out;
}

std::vector<std::string> TensorLines(const NodeResults& results) {
  static constexpr std::string_view kNames[] = {"cosine",
                                                "euc_dist",
                                                "max_abs_err",
                                                "max_relative_err",
                                                "one_thousand_err_ratio",
                                                "five_thousand_err_ratio"};
  std::vector<std::string> lines;
  for (const ComparedRow& row : results.rows) {
    if (IsAbsent(row) || row.target->data_name.empty()) continue;
    std::string line = Concat("[", row.target->name, "] Compare result: ");
    for (size_t i = 0; i < kTensorMetricCount; ++i) {
      std::string cell;
      row.cells[i].AppendTo(&cell);
      line += Concat(kNames[i], " ", cell, ", ");
    }
    lines.push_back(line + MessageList(row));
  }
  return lines;
}

Result<NodeResults> GraphRun::CompareNodes(const RankPair& pair, const Graph& target,
                                           const Graph& golden, const NodeMatches& matches,
                                           bool cross) {
  const DumpFile& t = *target.dump().dump;
  const DumpFile& g = *golden.dump().dump;
  config_.structure_only = t.task() == "structure" && g.task() == "structure";
  if (config_.structure_only) return StructureResults(target, matches);
  SONDE_ASSIGN_OR_RETURN(config_.mode, DecideMode(t, g));
  TensorFileIssues issues;
  const auto fill_tensors = [&](Comparison* comparison) {
    TensorSource source;
    source.target_folder = JoinPath(pair.target.path, "dump_tensor_data");
    source.golden_folder = JoinPath(pair.golden.path, "dump_tensor_data");
    issues = FillTensorMetrics(source, comparison);
  };
  NodeResults results =
      CompareGraphs(target, golden, matches, config_.mode, cross, fill_tensors, merges());
  if (issues.unreadable > 0) {
    outcome_.notes.push_back(Concat(base::CountOf(issues.unreadable, "tensor"),
                                    " could not be read, the first: ", issues.first));
  }
  if (options_.log_tensors && config_.mode == Mode::kTensor) {
    for (std::string& line : TensorLines(results)) outcome_.log.push_back(std::move(line));
  }
  return results;
}

Status GraphRun::CompareTwo(const RankPair& pair, const Graph& target, Graph* golden,
                            const MergedGraph* target_merge, const MergedGraph* golden_merge) {
  SONDE_ASSIGN_OR_RETURN(const bool cross,
                         DecideCrossFramework(*target.dump().dump, *golden->dump().dump));
  SONDE_ASSIGN_OR_RETURN(const MatchOptions matching, MakeMatching(target, *golden, cross));
  const NodeMatches matches = MatchGraphs(target, *golden, matching);
  const NodeMatches reversed = Reversed(matches, golden->nodes().size());
  golden->TakeMicroSteps(target, reversed);
  SONDE_ASSIGN_OR_RETURN(const NodeResults results,
                         CompareNodes(pair, target, *golden, matches, cross));
  Count(target, matches, results);
  outcome_.target_nodes += target.nodes().size();
  outcome_.golden_nodes += golden->nodes().size();
  config_.micro_steps = std::max(config_.micro_steps, target.micro_step_count());
  const bool checksums = !config_.structure_only && config_.mode == Mode::kMd5;
  VisGraph view = MakeView(pair.target, target);
  view.partner = golden;
  view.matches = &matches;
  view.results = &results;
  view.checksums = checksums;
  if (target_merge != nullptr) view.merge_info = &target_merge->merge_info;
  VisGraph bench = MakeView(pair.golden, *golden);
  bench.source = "Bench";
  bench.step = view.step;
  bench.rank = view.rank;
  bench.partner = &target;
  bench.matches = &reversed;
  bench.checksums = checksums;
  if (golden_merge != nullptr) bench.merge_info = &golden_merge->merge_info;
  return AddViews({view, bench});
}

Status GraphRun::RunPair(const RankFolder& target, const RankFolder* golden) {
  std::vector<std::string>* const notes = &outcome_.notes;
  const std::string target_dump = JoinPath(target.path, "dump.json");
  if (golden == nullptr) {
    SONDE_ASSIGN_OR_RETURN(const DumpFolder folder, LoadDumpFolder(target_dump, "", notes));
    SONDE_ASSIGN_OR_RETURN(const Graph graph, Graph::Build(folder, target.path));
    return BuildOne(target, graph);
  }
  SONDE_ASSIGN_OR_RETURN(const DumpPair pair,
                         LoadDumpPair(target_dump, "", JoinPath(golden->path, "dump.json"), notes));
  Result<Graph> t = base::InternalError("not built");
  Result<Graph> g = base::InternalError("not built");
  base::TaskGroup building;
  building.Run([&] { t = Graph::Build(pair.target, target.path); });
  building.Run([&] { g = Graph::Build(pair.golden, golden->path); });
  building.Wait();
  SONDE_RETURN_IF_ERROR(t.status());
  SONDE_RETURN_IF_ERROR(g.status());
  return CompareTwo({target, *golden}, *t, &*g);
}

Status GraphRun::RunMergedStep(const MergedSide& target, MergedSide* golden) {
  if (golden != nullptr && golden->merged.size() != target.merged.size()) {
    return base::InvalidArgumentError(
        Concat("the target has ", base::CountOf(target.merged.size(), "replica"), ", the golden ",
               std::to_string(golden->merged.size())));
  }
  for (size_t i = 0; i < target.merged.size(); ++i) {
    const MergedGraph& merged = target.merged[i];
    const RankFolder& folder = FolderOf(target, merged);
    if (golden == nullptr) {
      SONDE_RETURN_IF_ERROR(BuildOne(folder, *merged.graph, &merged.merge_info));
    } else {
      const MergedGraph& other = golden->merged[i];
      SONDE_RETURN_IF_ERROR(CompareTwo({folder, FolderOf(*golden, other)}, *merged.graph,
                                       other.graph.get(), &merged, &other));
    }
    steps_.insert(folder.step);
    ranks_.insert(merged.rank);
  }
  return Status::Ok();
}

// Every step that both sides have.
Status GraphRun::RunMerged(const DumpTree& target, const DumpTree& golden, bool compare) {
  std::set<int64_t> steps;
  for (const RankFolder& rank : target.ranks) steps.insert(rank.step);
  for (const int64_t step : steps) {
    const auto of_step = [step](const RankFolder& rank) { return rank.step == step; };
    if (compare && std::none_of(golden.ranks.begin(), golden.ranks.end(), of_step)) continue;
    SONDE_ASSIGN_OR_RETURN(const MergedSide t,
                           MergeSide(target, step, options_.target_layout, &outcome_.notes));
    if (!compare) {
      SONDE_RETURN_IF_ERROR(RunMergedStep(t, nullptr));
      continue;
    }
    SONDE_ASSIGN_OR_RETURN(MergedSide g,
                           MergeSide(golden, step, options_.golden_layout, &outcome_.notes));
    SONDE_RETURN_IF_ERROR(RunMergedStep(t, &g));
  }
  if (!steps_.empty()) return Status::Ok();
  return base::InvalidArgumentError("the two dumps have no step in common");
}

// Merged ranks as dumps of their own, which need no database.
Result<GraphOutcome> GraphRun::WriteDumps(const DumpTree& target) {
  std::set<int64_t> steps;
  for (const RankFolder& rank : target.ranks) steps.insert(rank.step);
  for (const int64_t step : steps) {
    SONDE_ASSIGN_OR_RETURN(const MergedSide side,
                           MergeSide(target, step, options_.target_layout, &outcome_.notes));
    for (const MergedGraph& merged : side.merged) {
      outcome_.target_nodes += merged.graph->nodes().size();
      outcome_.dumps.push_back(
          JoinPath(options_.output_path,
                   Concat("step", std::to_string(step), "/rank", std::to_string(merged.rank))));
      SONDE_RETURN_IF_ERROR(WriteMergedDump(merged, outcome_.dumps.back()));
    }
  }
  Progress(100);
  return std::move(outcome_);
}

// A rank that cannot be read is noted; when none can, the first one's reason is the answer.
Status GraphRun::RunPairs(std::vector<RankPair> pairs, bool compare) {
  const auto place = [](const RankPair& pair) {
    return std::pair(pair.target.step, std::max<int64_t>(pair.target.rank, 0));
  };
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const RankPair& a, const RankPair& b) { return place(a) < place(b); });
  Status first_error;
  std::set<std::pair<int64_t, int64_t>> done;
  for (size_t i = 0; i < pairs.size(); ++i) {
    Progress(static_cast<int>(i * 90 / pairs.size()));
    const RankFolder& target = pairs[i].target;
    Status status =
        done.contains(place(pairs[i]))
            ? base::AlreadyExistsError("the database holds another folder of this step and rank")
            : RunPair(target, compare ? &pairs[i].golden : nullptr);
    if (status.ok()) {
      done.insert(place(pairs[i]));
      continue;
    }
    if (!write_error_.ok()) return write_error_;
    if (pairs.size() > 1) {
      outcome_.notes.push_back(Concat(target.path, " is left out: ", status.message()));
    }
    if (first_error.ok()) first_error = std::move(status);
  }
  for (const auto& [step, rank] : done) {
    steps_.insert(step);
    ranks_.insert(rank);
  }
  return done.empty() ? first_error : Status::Ok();
}

Status NeedFolder(const std::string& path) {
  if (!base::PathExists(path) || base::IsDirectory(path)) return Status::Ok();
  return base::InvalidArgumentError(
      Concat(path, " is a file; a graph is built from a rank, step or dump folder"));
}

Result<GraphOutcome> GraphRun::Run() {
  const bool compare = !options_.golden_path.empty();
  SONDE_RETURN_IF_ERROR(NeedFolder(options_.target_path));
  SONDE_ASSIGN_OR_RETURN(const DumpTree target, FindDumps(options_.target_path));
  DumpTree golden;
  PairedTrees trees;
  if (compare) {
    SONDE_RETURN_IF_ERROR(NeedFolder(options_.golden_path));
    SONDE_ASSIGN_OR_RETURN(golden, FindDumps(options_.golden_path));
    if (!merges()) {
      SONDE_ASSIGN_OR_RETURN(trees, PairTrees(target, golden));
    }
  } else {
    for (const RankFolder& rank : target.ranks) trees.pairs.push_back({rank, {}});
  }
  outcome_.notes = trees.notes;
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(options_.output_path));
  if (options_.as_dump) return WriteDumps(target);
  outcome_.file = JoinPath(options_.output_path,
                           Concat(compare ? "compare_" : "build_", report::TimeStamp(), ".vis.db"));
  SONDE_ASSIGN_OR_RETURN(db_, VisDbWriter::Create(outcome_.file));
  if (options_.store) {
    outcome_.store = Concat(outcome_.file.substr(0, outcome_.file.size() - 7), ".duckdb");
    SONDE_ASSIGN_OR_RETURN(store_, ResultStore::Create(outcome_.store));
  }
  config_.compare = compare;
  config_.overflow_check = options_.overflow_check;
  SONDE_RETURN_IF_ERROR(merges() ? RunMerged(target, golden, compare)
                                 : RunPairs(std::move(trees.pairs), compare));
  WriteCommunications();
  for (std::string& note : mapping_use_.Notes()) outcome_.notes.push_back(std::move(note));
  config_.ranks.assign(ranks_.begin(), ranks_.end());
  config_.steps.assign(steps_.begin(), steps_.end());
  Progress(99);
  SONDE_RETURN_IF_ERROR(db_->Finish(config_));
  if (store_ != nullptr) SONDE_RETURN_IF_ERROR(store_->Publish());
  Progress(100);
  return std::move(outcome_);
}

}  // namespace

Result<GraphOutcome> RunGraph(const GraphOptions& options) { return GraphRun(options).Run(); }

}  // namespace sonde::precision
