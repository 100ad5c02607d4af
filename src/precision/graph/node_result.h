// Results of a comparison or an overflow check for the nodes of a graph.
//
// Differences follow the graph's conventions, which differ from those of the table: golden 0 makes
// the relative error N/A, equal numbers have 0.0%, integers stay integers, percentages in plain
// notation are shown with six decimals at most.
// Threads: pure; large graphs are worked on in parallel inside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "precision/compare/comparison.h"
#include "precision/graph/graph.h"

namespace sonde::precision {

// Partners of a graph's nodes in the other graph, kNoNode where there is none.
using NodeMatches = std::vector<int32_t>;

struct MatchOptions {
  bool fuzzy = false;
  // Merged ranks: calls may be named after the rank they come from.
  bool ignore_ranks = false;
  // Target call name -> golden call name; set for layer mapping.
  std::function<std::string(std::string_view)> map_name = {};
};
NodeMatches MatchGraphs(const Graph& target, const Graph& golden, const MatchOptions& options);
// The same from the other side, which has `size` nodes.
NodeMatches Reversed(const NodeMatches& matches, size_t size);

enum class Precision : uint8_t { kNone, kPass, kWarning, kError };

struct NodeResults {
  std::vector<Precision> precision;     // one a node
  base::LargeVector<ComparedRow> rows;  // one a row of the target dump
  Mode mode = Mode::kStatistics;
};

// `fill_tensors` computes the cells of tensor mode. `merged`: of ranks that were spread
// differently, so shapes need not be equal.
NodeResults CompareGraphs(const Graph& target, const Graph& golden, const NodeMatches& matches,
                          Mode mode, bool cross_framework,
                          const std::function<void(Comparison*)>& fill_tensors,
                          bool merged = false);

// Results of two dumps of structure alone: only which nodes match.
NodeResults StructureResults(const Graph& target, const NodeMatches& matches);

// Whether the golden call has no parameter at the row's place.
bool IsAbsent(const ComparedRow& row);

// Appends a cell of statistics mode as the database shows it.
void AppendStatisticCell(const ComparedRow& row, size_t cell, std::string* out);

// Texts of plain notation with more than six decimals, perhaps with a percent sign, are cut to six.
void ShortenDecimals(std::string* text);

}  // namespace sonde::precision
