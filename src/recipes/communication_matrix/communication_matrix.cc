#include "recipes/communication_matrix/communication_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/host/json.h"
#include "base/strings.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

// Earlier words win where two begin at the same letter.
constexpr std::array<std::string_view, 13> kWords = {
    "send",          "reduce",  "invalid",  "broadcast", "allreduce",  "receive",      "allgather",
    "reducescatter", "scatter", "alltoall", "alltoallv", "alltoallvc", "batchsendrecv"};

// An operation's part in a link; groups of thousands of ranks make millions of them.
struct MatrixPart {
  int64_t size_bytes;
  int64_t time_ns;
  Transport transport;
  uint32_t operation;  // index in view.communications
};

struct Group {
  Group(std::string kind_of_all, uint64_t group_hash, bool p2p)
      : kind(std::move(kind_of_all)), hash(group_hash), is_p2p(p2p) {}

  std::string kind;
  uint64_t hash = 0;
  bool is_p2p = false;
  // Links in the order of first appearance, each with its operations.
  std::vector<std::pair<std::pair<int64_t, int64_t>, std::vector<MatrixPart>>> links;

  std::vector<MatrixPart>& PartsOf(const Link& link) {
    const std::pair key(link.src_rank, link.dst_rank);
    // The links of one operation mostly come in the order of those of the last.
    if (next_ >= links.size() || links[next_].first != key) {
      const auto [place, is_new] = places_.try_emplace(key, links.size());
      if (is_new) links.emplace_back(key, std::vector<MatrixPart>());
      next_ = place->second;
    }
    return links[next_++].second;
  }

 private:
  std::map<std::pair<int64_t, int64_t>, size_t> places_;
  size_t next_ = 0;
};

double Speed(const MatrixPart& part) { return BandwidthGbPerS(part.size_bytes, part.time_ns); }

MatrixPart Total(const std::vector<MatrixPart>& parts) {
  MatrixPart total = parts.front();
  total.size_bytes = total.time_ns = 0;
  for (const MatrixPart& part : parts) {
    total.size_bytes += part.size_bytes;
    total.time_ns += part.time_ns;
  }
  return total;
}

// The entries of one kind and group; every link has top1, middle, bottom1 and total.
void AddEntries(const DeviceView& view, const Group& group, std::vector<MatrixEntry>& entries) {
  constexpr std::array<std::string_view, 6> kPlaces = {"top1",  "middle",  "bottom1",
                                                       "total", "bottom2", "bottom3"};
  std::array<MatrixEntry, kPlaces.size()> by_place;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    by_place[i].name = base::Concat(group.kind, "-", kPlaces[i]);
    by_place[i].group_hash = group.hash;
    by_place[i].is_p2p = group.is_p2p;
  }
  for (const auto& [ranks, parts] : group.links) {
    const auto add = [&, &link_ranks = ranks](size_t place, const MatrixPart& part) {
      by_place[place].cells.push_back(
          {{link_ranks.first, link_ranks.second, part.transport, part.size_bytes, part.time_ns},
           view.communications[part.operation].name});
    };
    const size_t n = parts.size();
    add(0, parts.front());
    add(1, parts[n / 2]);
    add(2, parts.back());
    add(3, Total(parts));
    by_place[3].cells.back().op_name.clear();
    if (n >= 2) add(4, parts[n - 2]);
    if (n >= 3) add(5, parts[n - 3]);
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
      group = groups.insert(groups.end(), Group(kind, shown.group_hash, shown.is_p2p));
    }
    for (const Link& link : row.links) {
      group->PartsOf(link).push_back({link.size_bytes, link.time_ns, link.transport, row.index});
    }
  }
  std::vector<MatrixEntry> entries;
  for (Group& group : groups) {
    for (auto& [ranks, parts] : group.links) {
      std::stable_sort(parts.begin(), parts.end(), [](const MatrixPart& a, const MatrixPart& b) {
        return Speed(a) > Speed(b);
      });
    }
    AddEntries(view, group, entries);
  }
  return entries;
}

namespace {

#define SONDE_COLUMNS_MATRIX(C)                                                                   \
  C(step_id, Opt, "", KeyOf("step"), "step that holds the begin; NULL: the trace has no steps")   \
  C(name, Text, "", KeyOf("matrix"), "kind of operation and which of them: allreduce-total, ...") \
  C(src_rank, Int, "", KeyOf("group_rank"), "from, number in the group")                          \
  C(dst_rank, Int, "", KeyOf("group_rank"), "to, number in the group")                            \
  C(transport, Text, "", KeyOf("transport"), "HCCS, RDMA, PCIE, SDMA, SIO, LOCAL")                \
  C(size_bytes, Int, "bytes", kNeither, "transferred")                                            \
  C(time_ns, Int, "ns", kLess, "of the transfers")                                                \
  C(op_name, Text, "", kLabel, "operation; empty for a total")                                    \
  C(basis, Text, "", kLabel, "measured, or delivered: from communication_matrix.json")
SONDE_RESULT(MatrixRecord, kCommunicationMatrix, "communication_matrix", SONDE_COLUMNS_MATRIX,
             "traffic over a link between two ranks by kind of operation")

// The profiler's own matrix, which knows of links what the other files do not: it stands before one
// computed from those.
class Delivered {
 public:
  explicit Delivered(store::RowSink& rows) : rows_(rows) {}

  bool Run(const TraceData& data) {
    if (data.tables == nullptr) return false;
    for (const store::SourceTextRow& text : data.tables->Rows<store::SourceTextRow>()) {
      if (!text.file.ends_with("communication_matrix.json")) continue;
      const auto document = base::JsonDocument::Parse(text.content, text.file);
      if (!document.ok()) continue;  // the import has counted it
      for (const auto& [step, parts] : document->root().Members()) {
        // "step13"; "step" where there are none.
        const auto number = base::ParseInt64(step.substr(std::min<size_t>(4, step.size())));
        for (const auto& [kind, entries] : parts.Members()) Entries(number.value_or(-1), entries);
      }
    }
    return is_found_;
  }

 private:
  static int64_t Scaled(const base::JsonValue& value) {
    constexpr double kMillion = 1e6;  // MB to bytes, ms to ns
    const double number = value.AsDouble().value_or(0);
    const bool fits = number >= 0 && number < 1e12;
    return fits ? static_cast<int64_t>(std::llround(number * kMillion)) : 0;
  }

  void Entries(int64_t step_id, const base::JsonValue& entries) {
    for (const auto& [key, links] : entries.Members()) {
      const std::string name(key.substr(0, key.find('@')));
      for (const auto& [ranks, link] : links.Members()) {
        const size_t dash = ranks.find('-');
        const auto src = base::ParseInt64(ranks.substr(0, dash));
        const auto dst = dash == std::string_view::npos ? std::nullopt
                                                        : base::ParseInt64(ranks.substr(dash + 1));
        if (!src || !dst) continue;
        const std::string transport = link["Transport Type"].AsString().value_or("");
        const std::string op_name =
            name.ends_with("-total") ? "" : link["Op Name"].AsString().value_or("");
        MatrixRecord{step_id,
                     name,
                     *src,
                     *dst,
                     transport,
                     Scaled(link["Transit Size(MB)"]),
                     Scaled(link["Transit Time(ms)"]),
                     op_name,
                     "delivered"}
            .Write(rows_);
        is_found_ = true;
      }
    }
  }

  store::RowSink& rows_;
  bool is_found_ = false;
};

void RunCommunicationMatrix(const DeviceView& view, store::RowSink& rows) {
  if (Delivered(rows).Run(*view.data)) return;
  for (const CommunicationStep& step : Communication(view)) {
    for (const MatrixEntry& entry : CommunicationMatrix(view, step)) {
      for (const MatrixCell& cell : entry.cells) {
        MatrixRecord{step.step_id.value_or(-1),
                     entry.name,
                     cell.link.src_rank,
                     cell.link.dst_rank,
                     TransportName(cell.link.transport),
                     cell.link.size_bytes,
                     cell.link.time_ns,
                     cell.op_name,
                     "measured"}
            .Write(rows);
      }
    }
  }
}

}  // namespace

extern const Recipe kCommunicationMatrixRecipe;
constexpr Recipe kCommunicationMatrixRecipe = {
    &kCommunicationMatrix,
    Reads<store::CommunicationOpRow, store::CommunicationTransitRow, store::StepRow,
          store::CommunicationGroupRow, store::SourceTextRow>()
        .WithBounds()
        .WithWaits(),
    &RunCommunicationMatrix};

}  // namespace sonde::recipes
