// The table task_launch: what meaning.h and launch.h say of each task, for statements of users.
#include <optional>
#include <string_view>

#include "recipes/launch/launch.h"
#include "recipes/meaning/meaning.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

#define SONDE_COLUMNS_TASK_LAUNCH(C)                                                           \
  C(task_id, Int, "", KeyOf("device_task"), "the task")                                        \
  C(name, Text, "", KeyOf("kernel"), "of the kernel, copy or operator")                        \
  C(work, Text, "", kLabel, "computing, communication, copy, fill, synchronisation, other")    \
  C(direction, OptText, "", kLabel, "of a copy: host to device, device to host, ...")          \
  C(dur_ns, Int, "ns", kLess, "duration of the task")                                          \
  C(call_slice_id, Opt, "", kLabel, "call of the host that launched it")                       \
  C(call, OptText, "", kLabel, "name of the call; NULL: unknown")                              \
  C(operator_slice_id, Opt, "", kLabel, "operator around the call")                            \
  C(operator_name, OptText, "", kLabel, "its name; NULL: none, as of graphs and bare threads") \
  C(delay_ns, Opt, "ns", kLess, "from the begin of the call to that of the task; NULL: no call")
SONDE_RESULT(TaskLaunchRow, kTaskLaunch, "task_launch", SONDE_COLUMNS_TASK_LAUNCH,
             "a device task: what kind of work it is, and who launched it")

std::string_view NameOf(Work work) {
  switch (work) {
    case Work::kComputing:
      return "computing";
    case Work::kCommunication:
      return "communication";
    case Work::kCopy:
      return "copy";
    case Work::kFill:
      return "fill";
    case Work::kSynchronisation:
      return "synchronisation";
    case Work::kOther:
      return "other";
  }
  return "";
}

std::string_view NameOfSlice(const TraceData& data, int32_t slice) {
  return slice < 0 ? std::string_view() : data.Name(data.Slice(slice).name);
}

void RunTaskLaunch(const DeviceView& view, store::RowSink& rows) {
  const TraceData& data = *view.data;
  const Launches launches(data);
  const std::vector<Work> works = MeaningsOf(data);
  for (size_t i = 0; i < data.tasks.size() && rows.wants_more(); ++i) {
    const store::DeviceTaskRow& task = data.tasks[i];
    const auto kind = static_cast<size_t>(task.kind_id);
    const std::string_view name = data.Name(data.kinds[kind].name);
    const int32_t call = launches.CallOf(i);
    const int32_t op = launches.OperatorOf(i);
    TaskLaunchRow{.task_id = task.task_id,
                  .name = name,
                  .work = NameOf(works[kind]),
                  .direction = works[kind] == Work::kCopy ? DirectionOf(name) : std::string_view(),
                  .dur_ns = task.dur,
                  .call_slice_id = call,
                  .call = NameOfSlice(data, call),
                  .operator_slice_id = op,
                  .operator_name = NameOfSlice(data, op),
                  .delay_ns = call < 0 ? store::kNone : task.ts - data.Slice(call).ts}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kTaskLaunchRecipe;
constexpr Recipe kTaskLaunchRecipe = {
    &kTaskLaunch,
    Reads<store::DeviceTaskRow, store::SliceRow, store::FlowRow, store::FrameworkOpRow>(),
    &RunTaskLaunch};

}  // namespace sonde::recipes
