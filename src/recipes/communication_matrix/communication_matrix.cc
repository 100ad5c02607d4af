#include "recipes/communication_matrix/communication_matrix.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/strings.h"

namespace sonde::recipes {
namespace {

// Earlier words win where two begin at the same letter.
constexpr std::array<std::string_view, 13> kWords = {
    "send",          "reduce",  "invalid",  "broadcast", "allreduce",  "receive",      "allgather",
    "reducescatter", "scatter", "alltoall", "alltoallv", "alltoallvc", "batchsendrecv"};

struct Group {
  std::string kind;
  uint64_t hash = 0;
  bool is_p2p = false;
  // Links in the order of first appearance, each with its operations.
  std::vector<std::pair<std::pair<int64_t, int64_t>, std::vector<MatrixCell>>> links;

  std::vector<MatrixCell>& CellsOf(const Link& link) {
    const std::pair key(link.src_rank, link.dst_rank);
    for (auto& [ranks, cells] : links) {
      if (ranks == key) return cells;
    }
    return links.emplace_back(key, std::vector<MatrixCell>()).second;
  }
};

double Speed(const Link& link) { return BandwidthGbPerS(link.size_bytes, link.time_ns); }

MatrixCell Total(const std::vector<MatrixCell>& cells) {
  MatrixCell total;
  total.link = cells.front().link;
  total.link.size_bytes = 0;
  total.link.time_ns = 0;
  for (const MatrixCell& cell : cells) {
    total.link.size_bytes += cell.link.size_bytes;
    total.link.time_ns += cell.link.time_ns;
  }
  return total;
}

// The entries of one kind and group; every link has top1, middle, bottom1 and total.
void AddEntries(const Group& group, std::vector<MatrixEntry>& entries) {
  constexpr std::array<std::string_view, 6> kPlaces = {"top1",  "middle",  "bottom1",
                                                       "total", "bottom2", "bottom3"};
  std::array<MatrixEntry, kPlaces.size()> by_place;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    by_place[i].name = base::Concat(group.kind, "-", kPlaces[i]);
    by_place[i].group_hash = group.hash;
    by_place[i].is_p2p = group.is_p2p;
  }
  for (const auto& [ranks, cells] : group.links) {
    const size_t n = cells.size();
    by_place[0].cells.push_back(cells.front());
    by_place[1].cells.push_back(cells[n / 2]);
    by_place[2].cells.push_back(cells.back());
    by_place[3].cells.push_back(Total(cells));
    if (n >= 2) by_place[4].cells.push_back(cells[n - 2]);
    if (n >= 3) by_place[5].cells.push_back(cells[n - 3]);
  }
  for (MatrixEntry& entry : by_place) {
    if (!entry.cells.empty()) entries.push_back(std::move(entry));
  }
}

}  // namespace

std::string MatrixKind(std::string_view op_name) {
  const std::string name = base::ToLower(op_name);
  size_t best_position = std::string::npos;
  std::string_view best;
  for (const std::string_view word : kWords) {
    const size_t position = name.find(word);
    if (position < best_position) {
      best_position = position;
      best = word;
    }
  }
  if (!best.empty()) return std::string(best);
  return name.substr(0, name.find("__"));
}

std::vector<MatrixEntry> CommunicationMatrix(const DeviceView& view,
                                             const CommunicationStep& step) {
  std::vector<Group> groups;
  for (const CommunicationRow& row : step.rows) {
    const CommunicationView& shown = view.communications[row.index];
    const std::string kind = MatrixKind(shown.name);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.kind == kind && g.hash == shown.group_hash && g.is_p2p == shown.is_p2p;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), Group{kind, shown.group_hash, shown.is_p2p, {}});
    }
    for (const Link& link : row.links) group->CellsOf(link).push_back({link, shown.name});
  }
  std::vector<MatrixEntry> entries;
  for (Group& group : groups) {
    for (auto& [ranks, cells] : group.links) {
      std::stable_sort(cells.begin(), cells.end(), [](const MatrixCell& a, const MatrixCell& b) {
        return Speed(a.link) > Speed(b.link);
      });
    }
    AddEntries(group, entries);
  }
  return entries;
}

}  // namespace sonde::recipes
