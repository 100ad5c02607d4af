#include "recipes/trace/device_view.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sonde::recipes {
namespace {

store::DeviceTaskRow Task(int32_t task_id, int64_t connection_id) {
  store::DeviceTaskRow task{};
  task.task_id = task_id;
  task.track_id = 0;
  task.kind_id = 0;
  task.ts = task_id;
  task.dur = 1;
  task.connection_id = connection_id;
  return task;
}

std::vector<store::TrackRow> OneTrack() {
  std::vector<store::TrackRow> tracks(1);
  tracks[0].process_id = store::kNone;
  return tracks;
}

std::vector<store::TaskKindRow> OneKind() {
  std::vector<store::TaskKindRow> kinds(1);
  kinds[0].core = store::kNone;
  return kinds;
}

store::CommunicationOpRow Operation(int32_t communication_id, int64_t connection_id) {
  store::CommunicationOpRow op{};
  op.communication_id = communication_id;
  op.connection_id = connection_id;
  op.process_id = op.name = op.op_type = op.group_name = store::kNone;
  return op;
}

// A task that no call launched is tied to none, also where its number is another one's connection.
TEST(DeviceViewTest, ConnectionsAreOfOneTaskOrCall) {
  const auto tracks = OneTrack();
  const auto kinds = OneKind();
  const std::vector<store::DeviceTaskRow> tasks = {Task(0, 3), Task(1, -1), Task(2, 1), Task(3, -1),
                                                   Task(4, 2)};
  std::vector<store::ApiCallRow> calls(1);
  calls[0].connection_id = 7;  // of a call whose task was not recorded
  const std::vector<store::CommunicationOpRow> operations = {Operation(0, -1), Operation(1, 9)};
  TraceData data;
  data.tracks = tracks;
  data.kinds = kinds;
  data.tasks = tasks;
  data.api_calls = calls;
  data.communications = operations;
  const DeviceView view = DeviceView::Make(data, /*with_times=*/false);
  std::set<int64_t> numbers = {7};
  for (const auto& task : tasks) EXPECT_TRUE(numbers.insert(view.ConnectionOf(task)).second);
  for (const auto& op : operations) EXPECT_TRUE(numbers.insert(view.ConnectionOf(op)).second);
  EXPECT_EQ(view.ConnectionOf(tasks[0]), 3);
  EXPECT_EQ(view.ConnectionOf(operations[1]), 9);
}

// As captures are: numbers from 1, which need no setting.
TEST(DeviceViewTest, WithoutConnectionsTasksCountFromOne) {
  const auto tracks = OneTrack();
  const auto kinds = OneKind();
  const std::vector<store::DeviceTaskRow> tasks = {Task(0, -1), Task(1, -1)};
  TraceData data;
  data.tracks = tracks;
  data.kinds = kinds;
  data.tasks = tasks;
  const DeviceView view = DeviceView::Make(data, /*with_times=*/false);
  EXPECT_EQ(view.ConnectionOf(tasks[0]), 1);
  EXPECT_EQ(view.ConnectionOf(tasks[1]), 2);
}

// Texts of a CPU: steps are of the program's process, tasks of one that has no threads.
TEST(DeviceViewTest, ACpuInAProcessOfItsOwnHasTheStepsOfTheProgram) {
  const std::vector<store::ProcessRow> processes = {{.process_id = 0, .pid = 7},
                                                    {.process_id = 1, .pid = 8}};
  std::vector<store::TrackRow> tracks = {{.track_id = 0, .kind = 0, .process_id = 0},
                                         {.track_id = 1, .kind = 1, .process_id = 1}};
  const std::vector<store::TaskKindRow> kinds = {
      {.kind_id = 0, .name = 2, .op_type = 2, .core = 3, .task_type = 2}};
  const std::vector<store::DeviceTaskRow> tasks = {
      {.task_id = 0, .track_id = 1, .ts = 1, .dur = 2, .kind_id = 0},
      {.task_id = 1, .track_id = 1, .ts = 20, .dur = 2, .kind_id = 0}};
  const std::vector<store::StepRow> steps = {{.step_id = 4, .process_id = 0, .ts = 0, .dur = 10},
                                             {.step_id = 5, .process_id = 0, .ts = 10, .dur = 15}};
  TraceData data;
  data.names = {"thread", "stream", "MatMul", "CPU"};
  data.processes = processes;
  data.tracks = tracks;
  data.kinds = kinds;
  data.tasks = tasks;
  data.steps = steps;
  data.last_ns = 100;
  const auto steps_of_device = [&] {
    std::vector<int64_t> found;
    const DeviceView view = DeviceView::Make(data);
    for (const StepTraceRow& row : view.devices.at(0).steps) {
      found.push_back(row.step_id.value_or(-1));
    }
    return found;
  };
  EXPECT_EQ(steps_of_device(), (std::vector<int64_t>{4, 5}));
  tracks[0].process_id = 1;  // threads of its own, which took no step
  EXPECT_EQ(steps_of_device(), (std::vector<int64_t>{-1}));
}

}  // namespace
}  // namespace sonde::recipes
