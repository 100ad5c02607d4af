// Where the time of each side went: computing by class of kernel, communication that nothing hides,
// the rest (sheet OverallMetrics and the table of the terminal).
//
// Units: milliseconds. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compare/frame/sheet.h"
#include "compare/frame/side.h"

namespace sonde::compare {

enum class KernelClass : uint8_t {
  kFlashForwardCube,
  kFlashForwardVector,
  kFlashBackwardCube,
  kFlashBackwardVector,
  kConvForwardCube,
  kConvForwardVector,
  kConvBackwardCube,
  kConvBackwardVector,
  kMatmulCube,
  kMatmulVector,
  kPagedAttention,
  kVectorTrans,
  kVectorOther,
  kCube,
  kTensorMove,
  kFused,     // computing and communication in one kernel
  kNotKnown,  // no kernel, or without the counters for it
  kCount,
};

// Of every kernel of the side, by its place there.
std::vector<KernelClass> Classify(const Side& side);

struct Amount {
  double ms = 0;
  int64_t count = 0;
  Amount& operator+=(const Amount& other) {
    ms += other.ms;
    count += other.count;
    return *this;
  }
};

struct FusedTime {
  Amount all;
  double computing_ms = 0;
  double communication_ms = 0;
};

struct GroupTime {
  std::string title;
  std::string description;
  double wait_ms = 0;
  double transmit_ms = 0;
};

struct Overall {
  std::array<Amount, static_cast<size_t>(KernelClass::kCount)> classes;
  std::vector<std::pair<std::string, FusedTime>> fused;  // by name, in their first order
  std::vector<GroupTime> groups;
  std::vector<std::pair<std::string, double>> group_overlaps;  // "a & b", ms
  bool has_classes = false;
  double computing_ms = 0;
  double communication_ms = 0;  // that nothing hides
  double library_ms = 0;        // of the light collective library
  int64_t library_count = 0;
  Amount sdma;
  double free_ms = 0;
  double e2e_ms = 0;
  double reserved_gb = 0;

  const Amount& Of(KernelClass one) const { return classes[static_cast<size_t>(one)]; }
  double WaitMs() const;
};

Overall MeasureOverall(const Side& side);

// Parts of MeasureOverall.
std::vector<std::pair<std::string, FusedTime>> MeasureFused(const Side& side,
                                                            std::span<const KernelClass> classes);
void MeasureGroups(const Side& side, Overall& overall);
Amount MeasureSdma(const Side& side);

// No rows where a side has no device work.
Sheet OverallSheet(const Overall& base, const Overall& comparison);

// The table of the terminal, its frame included.
std::string OverallTable(const Side& base_side, const Overall& base, const Side& comparison_side,
                         const Overall& comparison);

}  // namespace sonde::compare
