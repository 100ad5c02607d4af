#include "recipes/communication/traffic.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/host/json.h"
#include "recipes/communication/naming.h"

namespace sonde::recipes {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO", "LOCAL"};

// Global ranks of a group, and the place of this rank among them.
struct Members {
  std::vector<int64_t> ranks;
  std::optional<int64_t> own;

  std::optional<int64_t> PlaceOf(int64_t global_rank) const {
    const auto found = std::find(ranks.begin(), ranks.end(), global_rank);
    if (found == ranks.end()) return std::nullopt;
    return found - ranks.begin();
  }
};

void AddRanks(std::string_view json_list, Members& members) {
  const auto list = base::JsonDocument::Parse(json_list, "rank_list");
  if (!list.ok()) return;
  for (const base::JsonValue& rank : list->root().Elements()) {
    members.ranks.push_back(rank.AsInt().value_or(-1));
  }
}

Members MembersOf(const DeviceView& view, uint64_t group_hash) {
  Members members;
  for (const CommunicationGroup& group : view.data->groups) {
    if (group.hash != group_hash) continue;
    AddRanks(group.rank_list, members);
    break;
  }
  if (view.settings.rank) members.own = members.PlaceOf(*view.settings.rank);
  return members;
}

// Of two ranks of a job whose machines have equally many ranks.
Transport TransportBetween(const DeviceView& view, int64_t global_a, int64_t global_b) {
  const int64_t per_machine = view.settings.local_world_size;
  if (per_machine <= 0) return Transport::kSdma;
  return global_a / per_machine == global_b / per_machine ? Transport::kSdma : Transport::kRdma;
}

// Bytes that a collective sends to each other rank, and that stay.
struct Share {
  int64_t to_each = 0;
  int64_t stays = 0;
};
Share ShareOf(std::string_view kind, int64_t size_bytes, int64_t rank_count) {
  if (kind == "allReduce") return {2 * size_bytes / rank_count, size_bytes / rank_count};
  if (kind == "allGather") return {size_bytes, size_bytes};
  if (kind == "reduceScatter" || kind == "alltoall" || kind == "alltoallv" || kind == "broadcast") {
    return {size_bytes / rank_count, size_bytes / rank_count};
  }
  return {};
}

std::vector<Link> NominalLinks(const DeviceView& view, size_t index) {
  const store::CommunicationOpRow& op = view.data->communications[index];
  const CommunicationView& shown = view.communications[index];
  const Members members = MembersOf(view, shown.group_hash);
  if (!members.own) return {};
  const int64_t own = *members.own;
  const int64_t own_global = members.ranks[static_cast<size_t>(own)];
  const int64_t wait_ns = index < view.waits_ns.size() ? view.waits_ns[index] : 0;
  const int64_t time_ns = view.EndNs(op) - op.ts - std::max<int64_t>(wait_ns, 0);
  const int64_t size_bytes = std::max<int64_t>(op.size_bytes, 0);
  const std::string_view kind = HcomKind(view.data->Name(op.op_type));
  if (kind == "send" || kind == "receive") {
    const auto peer = members.PlaceOf(op.peer_rank);
    if (!peer) return {{own, own, Transport::kLocal, 0, 0}};
    const Transport transport = TransportBetween(view, own_global, op.peer_rank);
    const bool sends = kind == "send";
    return {{sends ? own : *peer, sends ? *peer : own, transport, size_bytes, time_ns}};
  }
  const auto count = static_cast<int64_t>(members.ranks.size());
  const Share share = ShareOf(kind, size_bytes, count);
  std::vector<Link> links;
  links.push_back({own, own, Transport::kLocal, share.stays, share.stays == 0 ? 0 : time_ns});
  if (share.to_each == 0) return links;
  for (int64_t peer = 0; peer < count; ++peer) {
    if (peer == own) continue;
    const Transport transport =
        TransportBetween(view, own_global, members.ranks[static_cast<size_t>(peer)]);
    links.push_back({own, peer, transport, share.to_each, time_ns});
  }
  return links;
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

std::vector<Link> LinksOf(const DeviceView& view, size_t index) {
  const auto transfers = TransfersOf(view, index);
  if (transfers.empty()) return NominalLinks(view, index);
  std::vector<Link> links;
  for (const store::CommunicationTransitRow& transfer : transfers) {
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
