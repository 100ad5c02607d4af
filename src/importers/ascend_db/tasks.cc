// Tasks of the device, with shapes and hardware counters, and the arrows from the host.
#include <algorithm>
#include <array>
#include <optional>

#include "base/hash.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteRow;

constexpr int64_t kNone32 = 4294967295;

int64_t KnownNumber(std::optional<int64_t> value) {
  return value && *value >= 0 && *value < kNone32 ? *value : -1;
}

std::optional<int32_t> SmallNumber(std::optional<int64_t> value) {
  if (!value || *value < 0 || *value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*value);
}

class TaskReader {
 public:
  explicit TaskReader(DbTrace& trace)
      : trace_(trace),
        rows_(trace.rows),
        device_(rows_),
        kernels_(rows_.pool()),
        communication_tasks_(rows_.pool()),
        mark_texts_(rows_.pool()) {}

  void Run() {
    if (!trace_.Has("TASK", {"startNs", "endNs", "globalTaskId", "streamId"})) return;
    ReadKernels();
    ReadScheduleKernels();
    ReadCommunicationTasks();
    ReadMarkTexts();
    trace_.Read("TASK",
                {"startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "globalPid",
                 "taskType", "contextId", "streamId", "taskId", "modelId"},
                [this](const SqliteRow& row) { Take(row); });
    if ((trace_.tables & store::kTableBit<store::DeviceTaskPmuRow>) != 0) ReadCounters();
    kernels_.ForEach([this](int64_t, const Kernel& kernel) {
      if (!kernel.taken) rows_.issues.Add(kDbOrphan, Concat(trace_.file, ": ", kernel.table));
    });
  }

 private:
  struct Kernel {
    int32_t kind = store::kNone;  // in kernel_kinds_
    bool taken = false;
    int32_t attributes = store::kNone;
    const char* table = "COMPUTE_TASK_INFO";  // that describes it
  };
  struct CommunicationTask {
    int32_t name = store::kNone;
    int64_t plane = 0;
    int32_t facts = store::kNone;  // in facts_
  };
  using TransferFacts = ascend::TransferFacts;

  void ReadKernels() {
    if (!trace_.Has("COMPUTE_TASK_INFO", {"name", "globalTaskId"})) return;
    // Schema 1.1 renamed blockDim to blockNum and later gave the old name another meaning.
    const bool is_new = trace_.reader.HasColumn("COMPUTE_TASK_INFO", "blockNum");
    trace_.Read("COMPUTE_TASK_INFO",
                {"name", "globalTaskId", is_new ? "blockNum" : "blockDim",
                 is_new ? "mixBlockNum" : "mixBlockDim", "taskType", "opType", "inputFormats",
                 "inputDataTypes", "inputShapes", "outputFormats", "outputDataTypes",
                 "outputShapes", "opState", "hf32Eligible", "attrInfo"},
                [this](const SqliteRow& row) {
                  const auto id = row.Int(1);
                  if (!id) return trace_.WrongType("COMPUTE_TASK_INFO");
                  const store::TaskKindRow kind =
                      device_.KindOf({.name = trace_.Text(row, 0),
                                      .op_type = trace_.Text(row, 5),
                                      .core = trace_.Text(row, 4),
                                      .block_num = KnownNumber(row.Int(2)),
                                      .mix_block_num = KnownNumber(row.Int(3)),
                                      .input_formats = device_.Known(trace_.TextView(row, 6)),
                                      .input_types = device_.Known(trace_.TextView(row, 7)),
                                      .input_shapes = device_.Shapes(trace_.TextView(row, 8)),
                                      .output_formats = device_.Known(trace_.TextView(row, 9)),
                                      .output_types = device_.Known(trace_.TextView(row, 10)),
                                      .output_shapes = device_.Shapes(trace_.TextView(row, 11)),
                                      .op_state = device_.Known(trace_.TextView(row, 12)),
                                      .hf32 = device_.Known(trace_.TextView(row, 13))});
                  kernels_.Insert(*id, {.kind = KernelKind(kind),
                                        .attributes = device_.Known(trace_.TextView(row, 14))});
                });
  }

  // Kernels on the AI CPU that work for a communication.
  void ReadScheduleKernels() {
    constexpr const char* kTable = "COMMUNICATION_SCHEDULE_TASK_INFO";
    if (!trace_.reader.HasTable(kTable) || !trace_.Has(kTable, {"name", "globalTaskId"})) return;
    trace_.Read(kTable, {"name", "globalTaskId", "taskType", "opType"},
                [this](const SqliteRow& row) {
                  const auto id = row.Int(1);
                  if (!id) return trace_.WrongType(kTable);
                  const store::TaskKindRow kind = device_.KindOf({.name = trace_.Text(row, 0),
                                                                  .op_type = trace_.Text(row, 3),
                                                                  .core = trace_.Text(row, 2)});
                  kernels_.Insert(*id, {.kind = KernelKind(kind), .table = kTable});
                });
  }

  // Kernels of one kind are many.
  int32_t KernelKind(const store::TaskKindRow& kind) {
    uint64_t hash = 0;
    const auto add = [&](auto value) {
      hash = base::HashCombine(hash, static_cast<uint64_t>(value));
    };
    store::RowTraits<store::TaskKindRow>::Visit(kind, add);
    for (auto [at, last] = kind_of_hash_.equal_range(hash); at != last; ++at) {
      if (SameKind(kernel_kinds_[static_cast<size_t>(at->second)], kind)) return at->second;
    }
    const auto index = static_cast<int32_t>(kernel_kinds_.size());
    kernel_kinds_.push_back(kind);
    kind_of_hash_.emplace(hash, index);
    return index;
  }

  static bool SameKind(const store::TaskKindRow& a, const store::TaskKindRow& b) {
    std::array<int64_t, store::RowTraits<store::TaskKindRow>::kColumns> columns = {};
    size_t i = 0;
    store::RowTraits<store::TaskKindRow>::Visit(a, [&](auto value) { columns[i++] = value; });
    i = 0;
    bool same = true;
    store::RowTraits<store::TaskKindRow>::Visit(
        b, [&](auto value) { same &= columns[i++] == static_cast<int64_t>(value); });
    return same;
  }

  void ReadCommunicationTasks() {
    if (!trace_.Has("COMMUNICATION_TASK_INFO", {"globalTaskId", "taskType"})) return;
    constexpr const char* kTable = "COMMUNICATION_TASK_INFO";
    const auto more = [this](std::string_view column) {
      const bool is_read = reads_arguments_ && trace_.reader.HasColumn(kTable, column);
      return is_read ? column : std::string_view();
    };
    trace_.Read(kTable,
                {"globalTaskId", "taskType", "planeId", more("notifyId"), more("srcRank"),
                 more("dstRank"), more("size"), more("transportType"), more("dataType"),
                 more("linkType"), more("bandwidth")},
                [this](const SqliteRow& row) {
                  const auto id = row.Int(0);
                  if (!id) return trace_.WrongType("COMMUNICATION_TASK_INFO");
                  const auto facts = static_cast<int32_t>(facts_.size());
                  if (reads_arguments_) facts_.push_back(FactsOf(row));
                  communication_tasks_.Insert(*id,
                                              {trace_.Text(row, 1), row.Int(2).value_or(0), facts});
                });
  }

  TransferFacts FactsOf(const SqliteRow& row) {
    constexpr int kFirstNumber = 3;
    TransferFacts facts;
    for (size_t i = 0; i < TransferFacts::kNumberKeys.size(); ++i) {
      facts.numbers[i] = row.Int(kFirstNumber + static_cast<int>(i)).value_or(-1);
    }
    facts.texts = {trace_.Enum("ENUM_HCCL_TRANSPORT_TYPE", row.Int(7)),
                   trace_.Enum("ENUM_HCCL_DATA_TYPE", row.Int(8)),
                   trace_.Enum("ENUM_HCCL_LINK_TYPE", row.Int(9))};
    facts.bandwidth = row.Double(10);
    return facts;
  }

  void ReadMarkTexts() {
    if (!trace_.Has("MSTX_EVENTS", {"message", "connectionId"})) return;
    trace_.Read("MSTX_EVENTS", {"message", "connectionId"}, [this](const SqliteRow& row) {
      const auto connection = row.Int(1);
      if (connection && *connection != kNone32) {
        mark_texts_.Insert(*connection, trace_.Text(row, 0));
      }
    });
  }

  void Take(const SqliteRow& row) {
    const auto begin = row.Int(0);
    const auto end = row.Int(1);
    const auto id = row.Int(4);
    if (!begin || !end || !id) return trace_.WrongType("TASK");
    ascend::DeviceTask task;
    const int32_t task_type = trace_.Text(row, 6);
    Kernel* kernel = kernels_.Find(*id);
    const CommunicationTask* part = communication_tasks_.Find(*id);
    const int32_t* mark = mark_texts_.Find(row.Int(3).value_or(kNone32));
    if (kernel != nullptr) {
      task.kind = kernel_kinds_[static_cast<size_t>(kernel->kind)];
      kernel->taken = true;
    } else if (part != nullptr) {
      task.kind.name = part->name;
      task.plane = part->plane;
    } else {
      task.kind.name = mark != nullptr ? *mark : task_type;
    }
    task.kind.task_type = task_type;
    task.kind.context_id = KnownNumber(row.Int(7));
    task.kind.model_id = KnownNumber(row.Int(10));
    task.ts = *begin;
    task.dur = SpanNs(*begin, *end);
    task.place = {.process_id = ProcessOf(row),
                  .device_id = SmallNumber(row.Int(2)).value_or(-1),
                  .stream_id = SmallNumber(row.Int(8)).value_or(-1)};
    task.connection_id = KnownNumber(row.Int(3));
    task.queue_number = KnownNumber(row.Int(9));
    const int32_t index = device_.AddTask(task);
    trace_.task_of_global.Insert(*id, index);
    store::DeviceTaskRow& added = rows_.tasks[static_cast<size_t>(index)];
    Connect(added, task.place.device_id);
    if (task.plane) added.launch_slice_id = store::kNone;
    if (!reads_arguments_) return;
    if (kernel != nullptr && kernel->attributes != store::kNone) {
      const ascend::Argument argument{ascend::kAttributes,
                                      std::string(rows_.names.Text(kernel->attributes)),
                                      /*is_number=*/false};
      device_.AddArguments(added.slice_id, {&argument, 1});
    }
    if (part == nullptr || kernel != nullptr) return;
    device_.AddFacts(added.slice_id, part->name, facts_[static_cast<size_t>(part->facts)]);
  }

  int32_t ProcessOf(const SqliteRow& row) {
    const int64_t pid = row.Int(5).value_or(0);
    // Rows that viewers and generators add have no real process.
    return pid > 1 ? rows_.Process(pid) : trace_.MainProcess();
  }

  void Connect(store::DeviceTaskRow& task, int32_t device) {
    if (task.connection_id < 0) return;
    trace_.device_of_connection.Insert(task.connection_id, device);
    const int32_t* op = trace_.op_of_connection.Find(task.connection_id);
    if (op != nullptr) task.launch_slice_id = *op;
    const ApiCall* call = trace_.api_of_connection.Find(task.connection_id);
    if (call == nullptr) return;
    store::FlowRow flow;
    flow.kind = rows_.names.Intern("host_to_device");
    flow.key = task.connection_id;
    flow.slice_out = call->slice;
    flow.slice_in = task.slice_id;
    rows_.flows.push_back(flow);
    if (!call->is_launch) return;
    steps_.ForEach(call->ts, [&](size_t place) {
      StepSpan& step = trace_.steps[place];
      step.begin = std::min(step.begin, task.ts);
      step.end = std::max(step.end, task.ts + task.dur);
    });
  }

  void ReadCounters() {
    if (!trace_.Has("TASK_PMU_INFO", {"globalTaskId", "name", "value"})) return;
    trace_.Read("TASK_PMU_INFO", {"globalTaskId", "name", "value"}, [this](const SqliteRow& row) {
      const auto id = row.Int(0);
      const auto value = row.Double(2);
      if (!id || !value) return trace_.WrongType("TASK_PMU_INFO");
      const int32_t* task = trace_.task_of_global.Find(*id);
      if (task == nullptr) {
        rows_.issues.Add(kDbOrphan, Concat(trace_.file, ": TASK_PMU_INFO"));
        return;
      }
      device_.AddCounter(
          {.task = *task, .name = trace_.Text(row, 1), .value = *value, .is_of_database = true});
    });
  }

  DbTrace& trace_;
  TraceRows& rows_;
  ascend::DeviceRows device_;
  // Rows of transits are in the order of the numbers of names, some of which are first met here.
  const bool reads_arguments_ =
      (trace_.tables & store::TablesOf<store::ArgsIntRow, store::ArgsDoubleRow, store::ArgsTextRow,
                                       store::CommunicationTransitRow>()) != 0;
  NumberTable<Kernel> kernels_;
  std::vector<store::TaskKindRow> kernel_kinds_;
  std::unordered_multimap<uint64_t, int32_t> kind_of_hash_;
  NumberTable<CommunicationTask> communication_tasks_;
  std::vector<TransferFacts> facts_;
  NumberTable<int32_t> mark_texts_;
  StepIndex steps_ = trace_.HostSteps();
};

}  // namespace

void ReadTasks(DbTrace& trace) {
  TaskReader(trace).Run();
  const StepIndex steps = trace.DeviceSteps();
  for (store::DeviceTaskRow& task : trace.rows.tasks) task.step_id = steps.At(task.ts);
}

}  // namespace sonde::importers::db_import
