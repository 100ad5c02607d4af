// The table mean_step: the steps that `sonde analyse` prints, for statements of users.
#include "recipes/recipe.h"
#include "recipes/summary/summary.h"

namespace sonde::recipes {
namespace {

#define SONDE_COLUMNS_MEAN_STEP(C)                                                     \
  C(process_id, Int, "", KeyOf("process"), "its process")                              \
  C(device_id, Int, "", KeyOf("device"), "number of the device")                       \
  C(steps, Int, "", kNeither, "steps of the mean")                                     \
  C(left_out, Int, "", kNeither, "warm-up and fragments, which do not count")          \
  C(computing_ns, Int, "ns", kLess, "time in which it computed")                       \
  C(communication_ns, Int, "ns", kLess, "time in which it communicated")               \
  C(not_overlapped_ns, Int, "ns", kLess, "communication while nothing was computed")   \
  C(free_ns, Int, "ns", kLess, "neither, between first and last work of the step")     \
  C(bubble_ns, Int, "ns", kLess, "waiting for other stages of a pipeline")             \
  C(stage_ns, Int, "ns", kLess, "computing + communication alone + free - bubble")     \
  C(copying_ns, Int, "ns", kLess, "copies while nothing was computed or communicated") \
  C(idle_ns, Int, "ns", kLess, "no work at all, copies included, between first and last of it")
SONDE_RESULT(MeanStepRecord, kMeanStep, "mean_step", SONDE_COLUMNS_MEAN_STEP,
             "the mean step of a device, over the steps that count")

void RunMeanStep(const DeviceView& view, store::RowSink& rows) {
  for (size_t i = 0; i < view.devices.size() && rows.wants_more(); ++i) {
    const DeviceSteps steps = MeanStepOf(view, i);
    if (steps.count == 0) continue;
    MeanStepRecord{.process_id = view.devices[i].process_id,
                   .device_id = steps.device_id,
                   .steps = steps.count,
                   .left_out = steps.left_out,
                   .computing_ns = steps.mean.computing_ns,
                   .communication_ns = steps.mean.communication_ns,
                   .not_overlapped_ns = steps.mean.not_overlapped_ns,
                   .free_ns = steps.mean.free_ns,
                   .bubble_ns = steps.mean.bubble_ns,
                   .stage_ns = steps.mean.stage_ns,
                   .copying_ns = steps.mean_copies.copying_ns,
                   .idle_ns = steps.mean_copies.idle_ns}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kMeanStepRecipe;
constexpr Recipe kMeanStepRecipe = {
    &kMeanStep,
    Reads<store::StepRow, store::SliceRow, store::DeviceTaskRow, store::CommunicationOpRow,
          store::CommunicationGroupRow, store::FlowRow>()
        .WithDeviceTimes(),
    &RunMeanStep};

}  // namespace sonde::recipes
