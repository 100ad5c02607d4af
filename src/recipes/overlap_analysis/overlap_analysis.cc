#include "recipes/overlap_analysis/overlap_analysis.h"

#include "recipes/meaning/meaning.h"
#include "recipes/recipe.h"

namespace sonde::recipes {

Overlap AnalyseOverlap(std::vector<Interval> computing, std::vector<Interval> communication) {
  Overlap overlap;
  overlap.computing = Merge(std::move(computing));
  overlap.communication = Merge(std::move(communication));
  overlap.not_overlapped = Subtract(overlap.communication, overlap.computing);
  const std::vector<Interval> busy = Unite(overlap.computing, overlap.communication);
  for (size_t i = 1; i < busy.size(); ++i) {
    overlap.free.push_back({busy[i - 1].end_ns, busy[i].start_ns});
  }
  return overlap;
}

bool IsCommunicationKernel(std::string_view task_name) {
  return task_name.ends_with("AicpuKernel") || task_name.ends_with("AivKernel") ||
         task_name.starts_with("c10d::") || task_name.starts_with("_c10d_functional");
}

namespace {

#define SONDE_COLUMNS_OVERLAP(C)                                                                 \
  C(process_id, Opt, "", KeyOf("process"), "process that the device is of")                      \
  C(device_id, Int, "", KeyOf("device"), "number of the device in its process")                  \
  C(type, Text, "", KeyOf("overlap"),                                                            \
    "Computing, Communication, Communication(Not Overlapped), Free (neither), Copying (nothing " \
    "else), Idle (none of the three)")                                                           \
  C(start_ns, Int, "ns", kLabel, "begin, of the Unix epoch")                                     \
  C(end_ns, Int, "ns", kLabel, "end, of the Unix epoch")
SONDE_RESULT(OverlapRecord, kOverlapAnalysis, "overlap_analysis", SONDE_COLUMNS_OVERLAP,
             "a stretch of time in which a device did the same")

void RunOverlapAnalysis(const DeviceView& view, store::RowSink& rows) {
  for (size_t i = 0; i < view.devices.size(); ++i) {
    const Device& device = view.devices[i];
    const auto write = [&](std::string_view type, const std::vector<Interval>& intervals) {
      for (const Interval& interval : intervals) {
        OverlapRecord{device.process_id, device.device_id, type, interval.start_ns, interval.end_ns}
            .Write(rows);
      }
    };
    write("Computing", device.overlap.computing);
    write("Communication", device.overlap.communication);
    write("Communication(Not Overlapped)", device.overlap.not_overlapped);
    write("Free", device.overlap.free);
    const std::vector<Interval> busy =
        Unite(device.overlap.computing, device.overlap.communication);
    write("Copying", Subtract(CopiesOf(view, i), busy));
    write("Idle", IdleOf(view, i));
  }
}

}  // namespace

extern const Recipe kOverlapAnalysisRecipe;
constexpr Recipe kOverlapAnalysisRecipe = {
    &kOverlapAnalysis,
    Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::StepRow>().WithDeviceTimes(),
    &RunOverlapAnalysis};

}  // namespace sonde::recipes
