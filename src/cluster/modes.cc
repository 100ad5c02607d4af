// The list of modes, one line each.
#include <array>

#include "cluster/communication_bottleneck/streams.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

#define SONDE_CLUSTER_MODES(M)  \
  M(kAll)                       \
  M(kCommunicationTime)         \
  M(kCommunicationMatrix)       \
  M(kCalibrateNpuGpu)           \
  M(kCannApiSum)                \
  M(kClusterCompareBaseline)    \
  M(kClusterTimeCompareSummary) \
  M(kClusterTimeSummary)        \
  M(kCollectiveSkew)            \
  M(kCommunicationBottleneck)   \
  M(kCommunicationGroupMap)     \
  M(kCommunicationMatrixSum)    \
  M(kCommunicationTimeSum)      \
  M(kComputationalOpMasking)    \
  M(kComputeOpSum)              \
  M(kEpLoadBalance)             \
  M(kExportSummary)             \
  M(kFilterDb)                  \
  M(kFreeAnalysis)              \
  M(kFreqAnalysis)              \
  M(kHcclSum)                   \
  M(kIdleTime)                  \
  M(kKernelTime)                \
  M(kModuleStatistic)           \
  M(kMstx2Commop)               \
  M(kMstxSum)                   \
  M(kOperatorMfu)               \
  M(kP2pPairing)                \
  M(kPpChart)                   \
  M(kSlowLink)                  \
  M(kSlowRank)                  \
  M(kTraceDiff)

#define SONDE_CLUSTER_MODE(name) extern const Mode name##Mode;
SONDE_CLUSTER_MODES(SONDE_CLUSTER_MODE)
#undef SONDE_CLUSTER_MODE

namespace {

#define SONDE_CLUSTER_MODE(name) &name##Mode,
constexpr auto kModes = std::to_array<const Mode*>({SONDE_CLUSTER_MODES(SONDE_CLUSTER_MODE)});
#undef SONDE_CLUSTER_MODE

}  // namespace

std::span<const Mode* const> Modes() { return kModes; }

const Mode* FindMode(std::string_view name) {
  for (const Mode* mode : kModes) {
    if (mode->name == name) return mode;
  }
  return nullptr;
}

const Mode* FindModeOrPart(std::string_view name) {
  return name == kStreamsMode.name ? &kStreamsMode : FindMode(name);
}

}  // namespace sonde::cluster
