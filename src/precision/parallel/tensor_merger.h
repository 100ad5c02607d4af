// Tensor parallel ranks: the same calls with parts of the numbers. Statistics that differ are put
// together, and a node lists the ranks and the method. Threads: one.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "precision/parallel/merge_tree.h"
#include "precision/parallel/parallel_layout.h"

namespace sonde::precision {

// Rank of a group's first member -> the other members: where calls were renamed by their rank.
using RankPeers = std::map<int64_t, std::vector<int64_t>>;

class TensorMerger {
 public:
  TensorMerger(MergeForest* forest, RankPeers peers) : forest_(*forest), peers_(std::move(peers)) {}

  // Into the first tree.
  void Merge(const std::vector<RankTree*>& trees);

 private:
  using Rows = std::vector<MergeRow*>;
  struct Differing {
    std::vector<std::pair<std::string_view, Rows>> inputs;
    std::vector<std::pair<std::string_view, Rows>> outputs;
    bool empty() const { return inputs.empty() && outputs.empty(); }
  };

  std::vector<int32_t> Twins(int32_t index) const;
  Differing Compare(int32_t index, const std::vector<int32_t>& twins, bool always);
  void MergeCall(int32_t index);
  void MergeMatmuls(int32_t module);
  bool TakeReduced(int32_t matmul, int32_t reduce);
  void MergeColumnToRow(int32_t column);
  void Note(int32_t index, const std::vector<int32_t>& twins, const Differing& found);

  MergeForest& forest_;
  RankPeers peers_;
  std::vector<RankTree*> trees_;
};

// Whether two rows have the same statistics; mean and norm may differ by a millionth if `loose`.
bool SameStatistics(const MergeRow& a, const MergeRow& b, bool loose);
// Whether rows of this type are put together at all.
bool IsMergedDtype(std::string_view dtype);

}  // namespace sonde::precision
