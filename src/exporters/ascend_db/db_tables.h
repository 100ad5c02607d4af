// The parts of ascend_pytorch_profiler_<rank>.db, each a function that makes and fills its tables.
//
// One thread; `ids` collects the texts, which are written last.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "exporters/ascend_db/string_ids.h"
#include "exporters/format/left_out.h"
#include "exporters/format/plane_slices.h"
#include "recipes/trace/device_view.h"
#include "report/sqlite_file.h"
#include "store/store.h"

namespace sonde::exporters {

struct DbContext {
  const recipes::DeviceView& view;
  report::SqliteFile& file;
  StringIds& ids;
  LeftOut* left_out = nullptr;          // may be null
  const store::Store* store = nullptr;  // as in ExportContext
  SliceArguments arguments = {};        // of tasks on planes
  std::vector<PlaneSlice> planes = {};  // reported by devices for communication operations

  const recipes::TraceData& data() const { return *view.data; }
  void LeaveOut(std::string_view what, int64_t count) {
    if (left_out != nullptr) left_out->Add("db", what, count);
  }
};

// SESSION_TIME_INFO, NPU_INFO, HOST_INFO, META_DATA, RANK_DEVICE_MAP.
Status WriteSessionTables(DbContext& context);
// TASK, COMPUTE_TASK_INFO, OVERLAP_ANALYSIS, CANN_API.
Status WriteDeviceTables(DbContext& context);
// CANN_API: calls of the vendor's interface on the host, or what stands for them.
Status WriteHostCalls(DbContext& context);
// COMMUNICATION_OP, COMMUNICATION_TASK_INFO. Their tasks are in TASK: those that the device
// reported, else one for each operation and transfer.
Status WriteCommunicationTables(DbContext& context);
// PYTORCH_API, CONNECTION_IDS, PYTORCH_CALLCHAINS, STEP_TIME, GC_RECORD.
Status WriteFrameworkTables(DbContext& context);
// MSTX_EVENTS.
Status WriteMarkTables(DbContext& context);
// AICORE_FREQ, HBM and the like, ENUM_MODULE. Values of counters that have no table are left out.
Status WriteSampledTables(DbContext& context);
// MEMORY_RECORD, OP_MEMORY.
Status WriteMemoryTables(DbContext& context);

// A process and thread as one number.
inline int64_t GlobalTid(int64_t pid, int64_t tid) { return (pid << 32) | (tid & 0xffffffff); }

// Of a communication operation in TASK.globalTaskId; those of computing tasks come before.
inline int64_t CommunicationTaskId(const recipes::TraceData& data, int64_t communication_id) {
  return static_cast<int64_t>(data.tasks.size()) + communication_id;
}

// A measured transfer of a communication operation: a task of its own, as the device ran it. Only
// the time of each is known: those of a link follow each other from the operation's start.
struct TransferTask {
  const store::CommunicationTransitRow* transfer = nullptr;
  int64_t id = 0;  // TASK.globalTaskId
  int64_t plane = 0;
  int64_t ts = 0;
  int64_t dur = 0;
  int64_t size_bytes = 0;
};
// All, by operation, behind the tasks of the operations. None at level 0, which has no table that
// describes them.
std::vector<std::vector<TransferTask>> TransferTasks(const recipes::DeviceView& view);

// TASK.globalTaskId of a slice of a plane: that of its task where it is one, else a number of its
// own behind those of tasks and operations.
inline int64_t PlaneTaskId(const DbContext& context, const PlaneSlice& plane) {
  if (plane.task >= 0) return plane.task;
  const auto first = static_cast<int64_t>(context.data().communications.size());
  return CommunicationTaskId(context.data(), first + plane.slice_id);
}

inline constexpr int64_t kNone32 = 4294967295;  // "none" in columns of the device
// Connections made by the framework are counted from here, apart from those of the device.
inline constexpr int64_t kFrameworkConnections = int64_t{5} << 28;

}  // namespace sonde::exporters
