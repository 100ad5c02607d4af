// Which rank sends how much to which, as the device measured it, and the bytes that a collective
// has to send. A link that nobody measured has no row: its size, time and transport would be a
// guess. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

// In the order of the ecosystem's files.
enum class Transport { kRdma, kHccs, kPcie, kSdma, kSio, kLocal };
std::string_view TransportName(Transport transport);

// Ranks are those inside the group.
struct Link {
  int64_t src_rank = 0;
  int64_t dst_rank = 0;
  Transport transport = Transport::kLocal;
  int64_t size_bytes = 0;
  int64_t time_ns = 0;
};

// Transfers of the operation data.communications[index] that were measured; empty: none were.
std::span<const store::CommunicationTransitRow> TransfersOf(const DeviceView& view, size_t index);
// Its measured links, one for each pair of ranks and transport.
std::vector<Link> LinksOf(const DeviceView& view, size_t index);
// Bytes that this rank has to send to the others (of a receive, to get) when every rank sends
// straight to every other, for n ranks and a payload of S bytes of this rank:
//   all-reduce          2 S / n x (n - 1)      all-gather       S x (n - 1)
//   reduce-scatter, all-to-all    S / n x (n - 1)      uneven all-to-all    S less what stays
//   broadcast, reduce (passed on from rank to rank), send, receive    S
//   others, or a group that is not known    0
// Over the time these are the bus bandwidths of nccl-tests (its doc/PERFORMANCE.md).
int64_t NominalBytes(const DeviceView& view, size_t index);
Transport TransportOf(std::string_view name);

}  // namespace sonde::recipes
