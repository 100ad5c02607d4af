#include "precision/graph/node_indexes.h"

#include <algorithm>
#include <numeric>

#include "base/host/parallel.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using sqlite::Record;

constexpr std::array<const char*, NodeIndexes::kCount> kNames = {
    "index1", "index2", "index3", "index4", "index5", "index6", "index7"};

// The orders in which one graph's nodes are asked for. A node is named by its order in the
// database.
struct Sorted {
  std::vector<uint32_t> by_name;
  std::vector<uint32_t> by_parent;
  std::vector<uint32_t> by_link;
};

std::vector<uint32_t> Numbers(size_t count) {
  std::vector<uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

// Orders by (key, order).
std::vector<uint32_t> SortByKey(const std::vector<uint32_t>& keys) {
  std::vector<uint64_t> packed(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) packed[i] = (uint64_t{keys[i]} << 32U) | i;
  std::sort(packed.begin(), packed.end());
  std::vector<uint32_t> out(keys.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint32_t>(packed[i]);
  return out;
}

class Sorter {
 public:
  explicit Sorter(const IndexedGraph& graph)
      : graph_(*graph.view->graph), nodes_(graph_.post_order()), links_(graph.links) {}

  Sorted Sort() const {
    Sorted out;
    out.by_name = Numbers(nodes_.size());
    std::sort(out.by_name.begin(), out.by_name.end(),
              [this](uint32_t a, uint32_t b) { return Name(a) < Name(b); });
    // A parent's place in the sorted names stands for its name; the root has none.
    std::vector<uint32_t> place_of_node(graph_.nodes().size(), 0);
    for (size_t i = 0; i < out.by_name.size(); ++i) {
      place_of_node[static_cast<size_t>(nodes_[out.by_name[i]])] = static_cast<uint32_t>(i) + 1;
    }
    std::vector<uint32_t> parents(nodes_.size(), 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const int32_t parent = graph_.node(nodes_[i]).parent;
      if (parent != kNoNode) parents[i] = place_of_node[static_cast<size_t>(parent)];
    }
    out.by_parent = SortByKey(parents);
    out.by_link = Numbers(nodes_.size());
    const auto before = [this](uint32_t a, uint32_t b) {
      const int order = links_[a].compare(links_[b]);
      return order != 0 ? order < 0 : a < b;
    };
    std::sort(out.by_link.begin(), out.by_link.end(), before);
    return out;
  }

 private:
  std::string_view Name(uint32_t order) const { return graph_.node(nodes_[order]).name; }

  const Graph& graph_;
  const std::vector<int32_t>& nodes_;
  const std::vector<std::string_view>& links_;
};

// Fills the indexes with the graphs of one rank.
class RankEntries {
 public:
  RankEntries(std::span<const IndexedGraph> graphs, const std::vector<Sorted>& sorted)
      : graphs_(graphs), sorted_(sorted) {
    for (size_t g = 0; g < graphs.size(); ++g) by_source_.push_back(g);
    std::sort(by_source_.begin(), by_source_.end(), [this](size_t a, size_t b) {
      return graphs_[a].view->source < graphs_[b].view->source;
    });
  }

  void Fill(size_t index, sqlite::IndexBuilder* out) const {
    switch (index) {
      case 0:
        BySource(&Sorted::by_parent, out,
                 [this](const GraphNode& node, size_t g, uint32_t order, Record* record) {
                   record->Text(node.parent == kNoNode
                                    ? std::string_view()
                                    : graphs_[g].view->graph->node(node.parent).name);
                   record->Int(order);
                 });
        return;
      case 1:
        BySource(&Sorted::by_name, out,
                 [](const GraphNode& node, size_t, uint32_t, Record* record) {
                   record->Text(node.name);
                 });
        return;
      case 2:
        BySource(nullptr, out, [](const GraphNode&, size_t, uint32_t order, Record* record) {
          record->Int(order);
        });
        return;
      case 3:
        ByOrder(out);
        return;
      case 4:
        ByMicroStep(out);
        return;
      default:
        ByLink(out);
    }
  }

 private:
  struct Place {
    size_t graph = 0;
    uint32_t order = 0;
  };

  void Begin(const IndexedGraph& graph, Record* record) const {
    record->Clear();
    record->Int(graph.view->step);
    record->Int(graph.view->rank);
  }
  const GraphNode& Node(const IndexedGraph& graph, uint32_t order) const {
    return graph.view->graph->node(graph.view->graph->post_order()[order]);
  }

  template <class AddColumns>
  void BySource(std::vector<uint32_t> Sorted::* sequence, sqlite::IndexBuilder* out,
                const AddColumns& add_columns) const {
    Record record;
    for (const size_t g : by_source_) {
      const IndexedGraph& graph = graphs_[g];
      for (uint32_t i = 0; i < graph.links.size(); ++i) {
        const uint32_t order = sequence == nullptr ? i : (sorted_[g].*sequence)[i];
        Begin(graph, &record);
        record.Text(graph.view->source);
        add_columns(Node(graph, order), g, order, &record);
        record.Int(graph.first_rowid + order);
        out->Add(record);
      }
    }
  }

  // All nodes of the rank by their order, then in the order of the graphs.
  std::vector<Place> Places() const {
    std::vector<Place> out;
    size_t most = 0;
    for (const IndexedGraph& graph : graphs_) most = std::max(most, graph.links.size());
    for (uint32_t order = 0; order < most; ++order) {
      for (size_t g = 0; g < graphs_.size(); ++g) {
        if (order < graphs_[g].links.size()) out.push_back({g, order});
      }
    }
    return out;
  }

  void ByOrder(sqlite::IndexBuilder* out) const {
    Record record;
    for (const Place& place : Places()) {
      Begin(graphs_[place.graph], &record);
      record.Int(place.order);
      record.Int(graphs_[place.graph].first_rowid + place.order);
      out->Add(record);
    }
  }

  void ByMicroStep(sqlite::IndexBuilder* out) const {
    std::vector<Place> places = Places();
    const auto step = [this](const Place& place) {
      return Node(graphs_[place.graph], place.order).micro_step;
    };
    const auto before = [&](const Place& a, const Place& b) { return step(a) < step(b); };
    if (!std::is_sorted(places.begin(), places.end(), before)) {
      std::stable_sort(places.begin(), places.end(), before);
    }
    Record record;
    for (const Place& place : places) {
      Begin(graphs_[place.graph], &record);
      record.Int(step(place));
      record.Int(place.order);
      record.Int(graphs_[place.graph].first_rowid + place.order);
      out->Add(record);
    }
  }

  void ByLink(sqlite::IndexBuilder* out) const {
    std::vector<Place> places;
    for (size_t g = 0; g < graphs_.size(); ++g) {
      const auto middle = static_cast<std::ptrdiff_t>(places.size());
      for (const uint32_t order : sorted_[g].by_link) places.push_back({g, order});
      const auto link = [this](const Place& p) { return graphs_[p.graph].links[p.order]; };
      std::inplace_merge(places.begin(), places.begin() + middle, places.end(),
                         [&](const Place& a, const Place& b) { return link(a) < link(b); });
    }
    Record record;
    for (const Place& place : places) {
      const IndexedGraph& graph = graphs_[place.graph];
      Begin(graph, &record);
      record.Int(0);  // modified
      record.Text(graph.links[place.order]);
      record.Int(graph.first_rowid + place.order);
      out->Add(record);
    }
  }

  std::span<const IndexedGraph> graphs_;
  const std::vector<Sorted>& sorted_;
  std::vector<size_t> by_source_;
};

// Names are part of the primary key.
Status CheckNames(const Graph& graph, const std::vector<uint32_t>& by_name) {
  const auto name = [&graph](uint32_t order) { return graph.node(graph.post_order()[order]).name; };
  const auto twice =
      std::adjacent_find(by_name.begin(), by_name.end(),
                         [&name](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (twice == by_name.end()) return Status::Ok();
  return base::CorruptDataError(base::Concat("two nodes are called '", name(*twice), "'"));
}

// index7: all that are not distributed; the others are returned.
std::vector<int64_t> AddLocalCalls(const IndexedGraph& graph, sqlite::IndexBuilder* out) {
  std::vector<int64_t> distributed;
  Record record;
  for (size_t order = 0; order < graph.links.size(); ++order) {
    const int64_t rowid = graph.first_rowid + static_cast<int64_t>(order);
    const int32_t index = graph.view->graph->post_order()[order];
    if (graph.view->graph->node(index).name.starts_with("Distributed")) {
      distributed.push_back(rowid);
      continue;
    }
    record.Clear();
    record.Int(0);
    record.Int(rowid);
    out->Add(record);
  }
  return distributed;
}

}  // namespace

const std::array<const char*, NodeIndexes::kCount> NodeIndexes::kSql = {
    "CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order)",
    "CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name)",
    "CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order)",
    "CREATE INDEX index4 ON tb_nodes (step, rank, node_order)",
    "CREATE INDEX index5 ON tb_nodes (step, rank, micro_step_id, node_order)",
    "CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link)",
    "CREATE INDEX index7 ON tb_nodes (is_distributed)"};

NodeIndexes::NodeIndexes(sqlite::PageFile* file) : file_(file) {
  for (size_t i = 0; i < kCount; ++i) builders_.emplace_back(file);
}

Status NodeIndexes::AddRank(std::span<const IndexedGraph> graphs) {
  for (const IndexedGraph& graph : graphs) {
    const VisGraph& view = *graph.view;
    Keys& keys = keys_.emplace_back();
    keys.prefix = GraphId(view.source, view.step, view.rank) + "_";
    const std::pair<int64_t, int64_t> place = {view.step, view.rank};
    if (place < last_ || !prefixes_.insert(keys.prefix).second) {
      return base::InvalidArgumentError(base::Concat("step ", std::to_string(view.step), " rank ",
                                                     std::to_string(view.rank), " occurs twice"));
    }
    last_ = place;
  }
  std::vector<Sorted> sorted(graphs.size());
  base::ParallelFor(graphs.size(), [&](size_t begin, size_t end) {
    for (size_t g = begin; g < end; ++g) sorted[g] = Sorter(graphs[g]).Sort();
  });
  for (size_t g = 0; g < graphs.size(); ++g) {
    SONDE_RETURN_IF_ERROR(CheckNames(*graphs[g].view->graph, sorted[g].by_name));
  }
  const RankEntries entries(graphs, sorted);
  base::ParallelFor(kCount, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (i + 1 < kCount) {
        entries.Fill(i, &builders_[i]);
        continue;
      }
      for (const IndexedGraph& graph : graphs) {
        const std::vector<int64_t> rowids = AddLocalCalls(graph, &builders_[i]);
        distributed_.insert(distributed_.end(), rowids.begin(), rowids.end());
      }
    }
  });
  for (size_t g = 0; g < graphs.size(); ++g) {
    Keys& keys = keys_[keys_.size() - graphs.size() + g];
    const Graph& graph = *graphs[g].view->graph;
    for (const uint32_t order : sorted[g].by_name) {
      keys.names.emplace_back(arena_.Store(graph.node(graph.post_order()[order]).name),
                              graphs[g].first_rowid + order);
    }
  }
  return Status::Ok();
}

uint32_t NodeIndexes::FinishPrimaryKey() {
  // No prefix is the beginning of another one, so the graphs' keys do not mix.
  std::sort(keys_.begin(), keys_.end(),
            [](const Keys& a, const Keys& b) { return a.prefix < b.prefix; });
  sqlite::IndexBuilder builder(file_);
  Record record;
  for (const Keys& keys : keys_) {
    for (const auto& [name, rowid] : keys.names) {
      record.Clear();
      record.BeginText()->append(keys.prefix).append(name);
      record.EndText();
      record.Int(rowid);
      builder.Add(record);
    }
  }
  return builder.Finish();
}

std::vector<sqlite::SchemaEntry> NodeIndexes::Finish() {
  Record record;
  for (const int64_t rowid : distributed_) {
    record.Clear();
    record.Int(1);
    record.Int(rowid);
    builders_.back().Add(record);
  }
  std::vector<sqlite::SchemaEntry> out;
  out.push_back({"index", "sqlite_autoindex_tb_nodes_1", "tb_nodes", FinishPrimaryKey(), ""});
  for (size_t i = 0; i < kCount; ++i) {
    out.push_back({"index", kNames[i], "tb_nodes", builders_[i].Finish(), kSql[i]});
  }
  return out;
}

}  // namespace sonde::precision
