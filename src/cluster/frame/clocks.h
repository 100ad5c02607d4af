// Clocks of hosts that disagree (recipes/communication/host_clocks.h), for modes whose tables lay
// times of ranks side by side: found, shown in a table and a notice, and corrected or left. Units:
// nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cluster/frame/mode.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_CLOCKS(C)                                                            \
  C(host, Text, "host", "", "", KeyOf("host"), "host, or the rank where it is not known")  \
  C(ranks, Text, "ranks", "", "", kLabel, "its ranks")                                     \
  C(ahead_ns, Int, "AheadNs", "", "ns", kNeither, "of the clock of the first rank's host") \
  C(deviation_ns, Int, "DeviationNs", "", "ns", kNeither, "median deviation of that")      \
  C(count, Int, "collectives", "", "", kNeither, "that show it")                           \
  C(is_corrected, Int, "isCorrected", "", "", kLabel, "1: times of the ranks are without it")
SONDE_CLUSTER_TABLE(ClockRow, kHostClocks, "host_clocks", "HostClocks", "host_clocks",
                    SONDE_COLUMNS_CLOCKS, "clocks of hosts that disagree")

// A collective on a rank; of Part.
struct CollectiveTime {
  std::string group_name;
  std::string type;  // hcom_allReduce_
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};
struct HostOfRank {
  std::string name;  // "" where it is not known
};

// Adds the collectives that begin in the window, and the host where there are any.
void MapCollectives(const RankInput& rank, Part& part);

struct Clocks {
  std::map<int32_t, int64_t> ahead_ns;  // by rank; those that agree are not there
  std::vector<ClockRow> rows;           // of all hosts, where one disagrees
  int64_t Of(int32_t rank) const {
    const auto found = ahead_ns.find(rank);
    return found == ahead_ns.end() ? 0 : found->second;
  }
};

// Of the modes that ask for clocks, and of those whose waits are computed.
inline constexpr ModeOption kKeepClocks = {
    .name = "--keep_clocks",
    .kind = OptionKind::kFlag,
    .help =
        "Leave times of hosts whose clocks disagree as they are, also for waits that no "
        "profiler measured"};

// From the rows of MapCollectives; with kKeepClocks they are shown and not corrected.
// Reports what it found.
Clocks FindClocks(std::span<const RankPart> ranks, const ModeOptions& options, Outcome& outcome);

}  // namespace sonde::cluster
