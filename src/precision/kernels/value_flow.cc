#include "precision/kernels/value_flow.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <tuple>

#include "precision/kernels/value_points.h"

namespace sonde::precision {
namespace {

constexpr int kMostRounds = 20;

// A call that a value goes into (or comes out of), by slots, and the value at its other end.
struct FlowEdge {
  bool is_consumer = false;
  std::string input;
  std::string output;
  size_t other = 0;

  bool operator<(const FlowEdge& b) const {
    return std::tie(is_consumer, input, output, other) <
           std::tie(b.is_consumer, b.input, b.output, b.other);
  }
};

using FlowEdges = std::vector<std::set<FlowEdge>>;

FlowEdges EdgesOf(const RunValues& run) {
  FlowEdges out(run.values.size());
  for (const RunCall& call : run.calls) {
    for (const auto& [input, from] : call.inputs) {
      for (const auto& [output, to] : call.outputs) {
        if (from == to) continue;
        out[from].insert({true, input, output, to});
        out[to].insert({false, input, output, from});
      }
    }
  }
  return out;
}

class FlowPairs {
 public:
  FlowPairs(const RunValues& dump, const RunValues& kernels, std::vector<int64_t>* partners)
      : dump_(dump),
        kernels_(kernels),
        dump_edges_(EdgesOf(dump)),
        kernel_edges_(EdgesOf(kernels)),
        partners_(*partners),
        owners_(kernels.values.size(), -1) {
    for (size_t d = 0; d < partners_.size(); ++d) {
      if (partners_[d] >= 0) owners_[static_cast<size_t>(partners_[d])] = static_cast<int64_t>(d);
    }
  }

  void Improve() {
    for (int round = 0; round < kMostRounds; ++round) {
      // Pairs first: what follows from a wrong one would confirm it.
      if (!ImproveAll(true) && !ImproveAll(false)) break;
    }
    DropUnconfirmed();
    JoinAlone();
  }

 private:
  // Whether it changed anything among the values with a partner, or those without.
  bool ImproveAll(bool with_partner) {
    bool changed = false;
    for (size_t d = 0; d < partners_.size(); ++d) {
      if ((partners_[d] >= 0) == with_partner) changed = ImproveOne(d) || changed;
    }
    return changed;
  }

  // How many calls of the value have a kernel like them at the other one.
  size_t Confirmed(size_t d, size_t k) const {
    return static_cast<size_t>(
        std::count_if(dump_edges_[d].begin(), dump_edges_[d].end(), [&](const FlowEdge& edge) {
          const int64_t other = partners_[edge.other];
          return other >= 0 && kernel_edges_[k].contains({edge.is_consumer, edge.input, edge.output,
                                                          static_cast<size_t>(other)});
        }));
  }

  // Values of kernels that stand to the partners of its neighbours as it does to these.
  std::set<size_t> Candidates(size_t d) const {
    std::set<size_t> out;
    for (const FlowEdge& edge : dump_edges_[d]) {
      const int64_t other = partners_[edge.other];
      if (other < 0) continue;
      for (const FlowEdge& back : kernel_edges_[static_cast<size_t>(other)]) {
        if (back.is_consumer != edge.is_consumer && back.input == edge.input &&
            back.output == edge.output) {
          out.insert(back.other);
        }
      }
    }
    return out;
  }

  // Both are the same parameter of the model.
  bool IsFixed(int64_t d) const {
    return d >= 0 && !dump_.values[static_cast<size_t>(d)].parameters.empty() &&
           partners_[static_cast<size_t>(d)] >= 0 &&
           !kernels_.values[static_cast<size_t>(partners_[static_cast<size_t>(d)])]
                .parameters.empty();
  }

  bool ImproveOne(size_t d) {
    if (IsFixed(static_cast<int64_t>(d))) return false;
    size_t most = partners_[d] < 0 ? 0 : Confirmed(d, static_cast<size_t>(partners_[d]));
    int64_t best = -1;
    for (const size_t k : Candidates(d)) {
      if (static_cast<int64_t>(k) == partners_[d] ||
          PointsOf(dump_.values[d], kernels_.values[k]) == 0) {
        continue;
      }
      const size_t confirmed = Confirmed(d, k);
      const int64_t owner = owners_[k];
      if (confirmed <= most || IsFixed(owner)) continue;
      if (owner >= 0 && Confirmed(static_cast<size_t>(owner), k) >= confirmed) continue;
      most = confirmed;
      best = static_cast<int64_t>(k);
    }
    if (best < 0) return false;
    const int64_t owner = owners_[static_cast<size_t>(best)];
    if (owner >= 0) Part(static_cast<size_t>(owner));
    Part(d);
    Pair(d, static_cast<size_t>(best));
    return true;
  }

  void DropUnconfirmed() {
    for (size_t d = 0; d < partners_.size(); ++d) {
      if (partners_[d] < 0 || IsFixed(static_cast<int64_t>(d))) continue;
      const auto k = static_cast<size_t>(partners_[d]);
      if (!ShareCell(dump_.values[d], kernels_.values[k]) && Confirmed(d, k) == 0) Part(d);
    }
  }

  // The compiler moves what does not depend on each other: a value without a partner takes the
  // only one that fits.
  void JoinAlone() {
    for (size_t d = 0; d < partners_.size(); ++d) {
      if (partners_[d] >= 0) continue;
      size_t found = owners_.size();
      size_t count = 0;
      for (size_t k = 0; k < owners_.size(); ++k) {
        const RunValue& value = kernels_.values[k];
        if (owners_[k] >= 0 || PointsOf(dump_.values[d], value) < kEnoughPoints) continue;
        if (!ShareCell(dump_.values[d], value)) continue;
        found = k;
        ++count;
      }
      if (count == 1) Pair(d, found);
    }
  }

  void Pair(size_t d, size_t k) {
    partners_[d] = static_cast<int64_t>(k);
    owners_[k] = static_cast<int64_t>(d);
  }
  void Part(size_t d) {
    if (partners_[d] >= 0) owners_[static_cast<size_t>(partners_[d])] = -1;
    partners_[d] = -1;
  }

  const RunValues& dump_;
  const RunValues& kernels_;
  const FlowEdges dump_edges_;
  const FlowEdges kernel_edges_;
  std::vector<int64_t>& partners_;
  std::vector<int64_t> owners_;  // of each value of the kernels
};

}  // namespace

void FollowFlow(const RunValues& dump, const RunValues& kernels, std::vector<int64_t>* partners) {
  FlowPairs(dump, kernels, partners).Improve();
}

}  // namespace sonde::precision
