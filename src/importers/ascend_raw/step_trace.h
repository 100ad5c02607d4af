// Events on the streams of a device that its firmware recorded: marks that a program set there, and
// iterations of models.
//
// A mark is an empty task; the begin and the end of a range are one each. One thread. Units: ticks
// of the device until they are rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/marks.h"

namespace sonde::importers::raw {

class StepTrace {
 public:
  StepTrace(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder,
            int64_t pid);

  void AddMarks(const Marks& marks);
  void AddIterations();

 private:
  struct Iteration {
    uint64_t model = 0;
    uint64_t index = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t forward = 0;   // first operator of the forward pass, 0 unknown
    uint64_t backward = 0;  // last one of the backward pass
  };

  std::vector<Iteration> Iterations() const;
  void AddMark(const TrackStep& begin, const TrackStep* end, const Marks& marks);
  int32_t AddSlices(const Iteration& iteration);
  void AddArguments(const std::vector<Iteration>& all, size_t index, int32_t slice);
  int64_t Span(uint64_t begin, uint64_t end) const;

  TraceRows& rows_;
  const DeviceLayer& device_;
  int64_t pid_;
  bool has_range_tags_;  // since CANN 9.1 ranges have a tag of their own
};

}  // namespace sonde::importers::raw
