#include "recipes/communication/traffic.h"

#include <algorithm>
#include <array>

#include "base/host/json.h"
#include "recipes/communication/naming.h"

namespace sonde::recipes {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO", "LOCAL"};

// 0: the group is not known.
int64_t RanksOfGroup(const DeviceView& view, uint64_t group_hash) {
  for (const CommunicationGroup& group : view.data->groups) {
    if (group.hash != group_hash) continue;
    const auto list = base::JsonDocument::Parse(group.rank_list, "rank_list");
    return list.ok() ? static_cast<int64_t>(list->root().Elements().size()) : 0;
  }
  return 0;
}

}  // namespace

std::string_view TransportName(Transport transport) {
  return kNames[static_cast<size_t>(transport)];
}

Transport TransportOf(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return Transport::kSdma;
  return static_cast<Transport>(found - kNames.begin());
}

std::span<const store::CommunicationTransitRow> TransfersOf(const DeviceView& view, size_t index) {
  const std::span<const store::CommunicationTransitRow> all = view.data->transits;
  const int32_t id = view.data->communications[index].communication_id;
  const auto first = std::lower_bound(all.begin(), all.end(), id,
                                      [](const store::CommunicationTransitRow& row, int32_t n) {
                                        return row.communication_id < n;
                                      });
  auto last = first;
  while (last != all.end() && last->communication_id == id) ++last;
  return {first, last};
}

int64_t NominalBytes(const DeviceView& view, size_t index) {
  const store::CommunicationOpRow& op = view.data->communications[index];
  const int64_t payload = std::max<int64_t>(op.size_bytes, 0);
  const std::string_view kind = HcomKind(view.data->Name(op.op_type));
  if (kind == "send" || kind == "receive") return payload;
  if (op.kept_bytes >= 0) return std::max<int64_t>(payload - op.kept_bytes, 0);
  const int64_t ranks = RanksOfGroup(view, view.communications[index].group_hash);
  if (ranks == 0) return 0;
  const int64_t others = ranks - 1;
  if (kind == "allReduce") return 2 * payload / ranks * others;
  if (kind == "allGather") return payload * others;
  if (kind == "broadcast" || kind == "reduce") return others > 0 ? payload : 0;
  const bool is_split = kind == "reduceScatter" || kind == "alltoall" || kind == "alltoallv";
  return is_split ? payload / ranks * others : 0;
}

std::vector<Link> LinksOf(const DeviceView& view, size_t index) {
  std::vector<Link> links;
  for (const store::CommunicationTransitRow& transfer : TransfersOf(view, index)) {
    const Transport transport = TransportOf(view.data->Name(transfer.transport));
    int64_t src = transfer.src_rank;
    int64_t dst = transfer.dst_rank;
    // What stays on the chip names one end only at times.
    if (transport == Transport::kLocal) src = dst = std::max(src, dst);
    // Ranks are unknown where only sums were kept.
    if (src < 0 || dst < 0) continue;
    const auto same = std::find_if(links.begin(), links.end(), [&](const Link& link) {
      return link.src_rank == src && link.dst_rank == dst && link.transport == transport;
    });
    Link& link = same != links.end() ? *same : links.emplace_back(Link{src, dst, transport, 0, 0});
    link.size_bytes += transfer.size_bytes;
    link.time_ns += transfer.duration_ns;
  }
  return links;
}

}  // namespace sonde::recipes
