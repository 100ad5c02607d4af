// Rows from the CSV files: kernels, memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend/device_types.h"
#include "importers/ascend_text/csv_reader.h"
#include "importers/ascend_text/issues.h"
#include "importers/ascend_text/text_trace.h"

namespace sonde::importers::text_import {
namespace {

using base::Concat;

// "" where there is no such cell; without the TAB that keeps spreadsheets from rounding.
std::string_view Cell(const CsvRow& row, int column) {
  if (column < 0 || static_cast<size_t>(column) >= row.size()) return {};
  return base::Trim(row[static_cast<size_t>(column)]);
}

bool IsUnknown(std::string_view cell) { return cell.empty() || cell == "N/A"; }

std::optional<int64_t> Ns(const CsvRow& row, int column) {
  return base::ParseMicrosecondsToNs(Cell(row, column));
}

// Columns of a file by any of the names that they had over time.
class Columns {
 public:
  Columns(std::string_view text, const SpanFile& file, store::ImportIssues& issues)
      : text_(text), file_(file), issues_(issues), header_(ReadCsvHeader(text)) {}

  const std::vector<std::string>& header() const { return header_; }
  // -1 where there is none.
  int Find(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      for (size_t i = 0; i < header_.size(); ++i) {
        if (header_[i] == name) return static_cast<int>(i);
      }
    }
    return -1;
  }
  // The same; counts missing columns.
  int Need(std::initializer_list<std::string_view> names) {
    const int found = Find(names);
    if (found < 0) {
      issues_.Add(kCsvMissingColumn, Concat(file_.relative, ": ", *names.begin()));
      complete_ = false;
    }
    return found;
  }
  bool complete() const { return complete_; }
  // The same for an optional column.
  int Want(std::initializer_list<std::string_view> names) {
    const int found = Find(names);
    if (found < 0) issues_.Add(kCsvLessColumns, Concat(file_.relative, ": ", *names.begin()));
    return found;
  }

  void ForEachRow(const std::function<void(const CsvRow&)>& take) {
    ReadCsv(text_, [&](const CsvRow& row, int64_t position) {
      position_ = position;
      take(row);
    });
  }
  void BadCell() { issues_.Add(kCsvBadCell, file_.relative, position_); }

  // Of a cell that may be empty; other values than numbers are counted, and unknown, too.
  int64_t NsOr(const CsvRow& row, int column, int64_t fallback) {
    const auto ns = Ns(row, column);
    if (ns && *ns >= 0) return *ns;
    CheckUnknown(row, column);
    return fallback;
  }
  int64_t IntOr(const CsvRow& row, int column, int64_t fallback) {
    const auto value = base::ParseInt64(Cell(row, column));
    if (!value) CheckUnknown(row, column);
    return value.value_or(fallback);
  }
  std::optional<double> Real(const CsvRow& row, int column) {
    const auto value = base::ParseDouble(Cell(row, column));
    if (value && std::isfinite(*value)) return value;
    CheckUnknown(row, column);
    return std::nullopt;
  }
  // Not negative; -1 unknown.
  int64_t Number(const CsvRow& row, int column) {
    constexpr int64_t kNone32 = 4294967295;
    const int64_t value = IntOr(row, column, -1);
    return value >= 0 && value != kNone32 ? value : -1;
  }
  // Of a size in units of 1024 or 1024 * 1024 bytes; -1 unknown.
  int64_t Bytes(const CsvRow& row, int column, double unit) {
    const auto value = Real(row, column);
    if (!value) return -1;
    constexpr double kLargest = 9e15;
    if (*value >= 0 && *value * unit < kLargest) return std::llround(*value * unit);
    issues_.Add(kCsvBadValue, file_.relative, position_);
    return -1;
  }

 private:
  void CheckUnknown(const CsvRow& row, int column) {
    if (!IsUnknown(Cell(row, column))) issues_.Add(kCsvBadValue, file_.relative, position_);
  }

  std::string_view text_;
  const SpanFile& file_;
  store::ImportIssues& issues_;
  std::vector<std::string> header_;
  bool complete_ = true;
  int64_t position_ = 0;
};

int32_t DeviceOf(std::string_view cell) {
  if (cell.starts_with("NPU:")) cell.remove_prefix(4);
  const auto number = base::ParseInt64(cell);
  return number && *number >= 0 && *number <= INT16_MAX ? static_cast<int32_t>(*number) : -1;
}

// --- Kernels -----------------------------------------------------------------------------------

class KernelRows {
 public:
  KernelRows(const SpanFile& file, std::string_view text, TextTrace& trace)
      : file_(file),
        columns_(text, file, trace.rows.issues),
        trace_(trace),
        rows_(trace.rows),
        device_rows_(trace.rows) {}

  void Run() {
    start_ = columns_.Need({"Start Time(us)", "Task Start Time(us)"});
    dur_ = columns_.Need({"Duration(us)", "Task Duration(us)"});
    name_ = columns_.Need({"Name", "Op Name"});
    if (!columns_.complete()) return;
    step_ = columns_.Find({"Step Id"});
    device_ = columns_.Find({"Device_id"});
    stream_ = columns_.Find({"Stream ID"});
    task_ = columns_.Find({"Task ID"});
    core_ = columns_.Want({"Accelerator Core", "Task Type"});
    FindKindColumns();
    columns_.ForEachRow([this](const CsvRow& row) { Take(row); });
  }

 private:
  void FindKindColumns() {
    type_ = columns_.Find({"Type", "OP Type"});
    state_ = columns_.Find({"OP State"});
    block_ = columns_.Find({"Block Num", "Block Dim"});
    mix_block_ = columns_.Find({"Mix Block Num", "Mix Block Dim"});
    hf32_ = columns_.Find({"HF32 Eligible"});
    model_ = columns_.Find({"Model ID"});
    context_ = columns_.Find({"Context ID"});
    shapes_ = {columns_.Find({"Input Shapes"}), columns_.Find({"Output Shapes"})};
    types_ = {columns_.Find({"Input Data Types"}), columns_.Find({"Output Data Types"})};
    formats_ = {columns_.Find({"Input Formats"}), columns_.Find({"Output Formats"})};
    // Hardware counters come behind the context.
    const int last = std::max({context_, formats_.second, block_, mix_block_});
    for (size_t i = static_cast<size_t>(last) + 1; i < columns_.header().size(); ++i) {
      counters_.emplace_back(static_cast<int>(i), rows_.names.Intern(columns_.header()[i]));
    }
  }

  int32_t Name(const CsvRow& row, int column) {
    const std::string_view cell = Cell(row, column);
    return IsUnknown(cell) ? store::kNone : rows_.names.Intern(cell);
  }

  void Take(const CsvRow& row) {
    const auto start = Ns(row, start_);
    const auto dur = Ns(row, dur_);
    if (!start || !dur || !IsTime(*start, std::max<int64_t>(*dur, 0))) return columns_.BadCell();
    const std::string_view core = Cell(row, core_);
    const std::string_view name = Cell(row, name_);
    const bool is_communication =
        core == "COMMUNICATION" || core == "HCCL" || (IsUnknown(core) && name.starts_with("hcom_"));
    if (is_communication) {
      TakeCommunication(row, *start, *dur);
    } else {
      TakeKernel(row, *start, *dur);
    }
  }

  int64_t StepOf(const CsvRow& row) { return columns_.IntOr(row, step_, -1); }

  int32_t DeviceId(const CsvRow& row) const {
    const int32_t device = DeviceOf(Cell(row, device_));
    return device >= 0 ? device : std::max(trace_.device_id, 0);
  }

  store::TaskKindRow KindOf(const CsvRow& row) {
    const std::string_view core = Cell(row, core_);
    store::TaskKindRow kind =
        device_rows_.KindOf({.name = rows_.names.Intern(Cell(row, name_)),
                             .op_type = Name(row, type_),
                             .core = core.empty() ? store::kNone : rows_.names.Intern(core),
                             .block_num = columns_.Number(row, block_),
                             .mix_block_num = columns_.Number(row, mix_block_),
                             .input_formats = Name(row, formats_.first),
                             .input_types = Name(row, types_.first),
                             .input_shapes = device_rows_.Shapes(Cell(row, shapes_.first)),
                             .output_formats = Name(row, formats_.second),
                             .output_types = Name(row, types_.second),
                             .output_shapes = device_rows_.Shapes(Cell(row, shapes_.second)),
                             .op_state = Name(row, state_),
                             .hf32 = Name(row, hf32_)});
    kind.model_id = columns_.Number(row, model_);
    kind.context_id = columns_.Number(row, context_);
    return kind;
  }

  void TakeKernel(const CsvRow& row, int64_t start, int64_t dur) {
    store::TaskKindRow kind = KindOf(row);
    const int32_t index = TakeFromTimeline(trace_.tasks, start, kind.name);
    if (index >= 0) {
      store::DeviceTaskRow& task = rows_.tasks[static_cast<size_t>(index)];
      const store::TaskKindRow& shown = rows_.kinds[static_cast<size_t>(task.kind_id)];
      kind.task_type = shown.task_type;
      if (kind.model_id < 0) kind.model_id = shown.model_id;
      if (kind.context_id < 0) kind.context_id = shown.context_id;
      task.kind_id = rows_.Kind(kind);
      task.step_id = StepOf(row);
      if (task.queue_number < 0) task.queue_number = columns_.Number(row, task_);
      AddCounters(row, index);
      return;
    }
    if (trace_.has_timeline) rows_.issues.Add(kNoSlice, file_.relative);
    const Stream stream = StreamOf(row);
    const int32_t task = device_rows_.AddTask({.ts = start,
                                               .dur = dur,
                                               .place = stream.place,
                                               .kind = kind,
                                               .queue_number = columns_.Number(row, task_),
                                               .step_id = StepOf(row),
                                               .track_id = stream.track_id,
                                               .is_shown = !trace_.has_timeline});
    AddCounters(row, task);
  }

  // Takes the event of the timeline with this name and start. Both files come from one number that
  // is rounded twice: they may differ by a nanosecond.
  static int32_t TakeFromTimeline(PlaceIndex& events, int64_t start, int32_t name) {
    constexpr int64_t kTolerance = 2;
    return events.TakeNearest(name, start, kTolerance);
  }

  struct Stream {
    ascend::Place place;
    int32_t track_id = store::kNone;  // where the timeline has it
  };
  Stream StreamOf(const CsvRow& row) {
    const int64_t number = columns_.Number(row, stream_);
    Stream stream;
    stream.place.stream_id = static_cast<int32_t>(std::clamp<int64_t>(number, -1, INT32_MAX));
    const auto known = trace_.stream_tracks.find(stream.place.stream_id);
    if (known != trace_.stream_tracks.end()) stream.track_id = known->second;
    stream.place.process_id =
        trace_.device_process_id >= 0 ? trace_.device_process_id : trace_.process_id;
    stream.place.device_id = DeviceId(row);
    return stream;
  }

  void AddCounters(const CsvRow& row, int32_t task) {
    for (const auto& [column, metric] : counters_) {
      const auto value = columns_.Real(row, column);
      if (value) device_rows_.AddCounter({.task = task, .name = metric, .value = *value});
    }
  }

  void TakeCommunication(const CsvRow& row, int64_t start, int64_t dur) {
    const int32_t name = rows_.names.Intern(Cell(row, name_));
    const int32_t known = TakeFromTimeline(trace_.communications, start, name);
    if (known >= 0) {
      rows_.communications[static_cast<size_t>(known)].step_id = StepOf(row);
      return;
    }
    if (trace_.has_timeline) rows_.issues.Add(kNoSlice, file_.relative);
    bool has_size = true;
    device_rows_.AddOperation(
        {.ts = start,
         .dur = std::max<int64_t>(dur, 0),
         .process_id = trace_.device_process_id >= 0 ? trace_.device_process_id : trace_.process_id,
         .device_id = DeviceId(row),
         .name = name,
         .step_id = StepOf(row),
         .is_shown = !trace_.has_timeline},
        has_size);
  }

  const SpanFile& file_;
  Columns columns_;
  TextTrace& trace_;
  TraceRows& rows_;
  ascend::DeviceRows device_rows_;
  int start_ = -1, dur_ = -1, name_ = -1, step_ = -1, device_ = -1, stream_ = -1, task_ = -1;
  int core_ = -1, type_ = -1, state_ = -1, block_ = -1, mix_block_ = -1, hf32_ = -1;
  int model_ = -1, context_ = -1;
  std::pair<int, int> shapes_ = {-1, -1};  // input, output
  std::pair<int, int> types_ = {-1, -1};
  std::pair<int, int> formats_ = {-1, -1};
  std::vector<std::pair<int, int32_t>> counters_;  // column, name
};

// --- Memory ------------------------------------------------------------------------------------

constexpr double kKb = 1024;
constexpr double kMb = 1024 * 1024;

void SetDevice(std::string_view cell, int16_t& type, int16_t& index) {
  type = cell == "CPU" ? kCpuType : kNpuType;
  // An unknown device is none: not the first.
  index = static_cast<int16_t>(
      type == kCpuType ? 0 : std::clamp<int32_t>(DeviceOf(cell), -1, INT16_MAX));
}

// Columns of allocated, reserved and active memory after an allocation, then after its release.
std::array<int, 6> TotalColumns(const Columns& columns, std::string_view unit) {
  std::array<int, 6> found{};
  size_t i = 0;
  for (const std::string_view when : {"Allocation", "Release"}) {
    for (const std::string_view what : {"Allocated", "Reserved", "Active"}) {
      const std::string column = Concat(when, " Total ", what, unit);
      found[i++] = columns.Find({column});
    }
  }
  return found;
}

void BlockRows(const SpanFile& file, std::string_view text, TextTrace& trace) {
  TraceRows& rows = trace.rows;
  Columns columns(text, file, rows.issues);
  const int name = columns.Need({"Name"});
  const int size = columns.Need({"Size(KB)"});
  const int alloc = columns.Need({"Allocation Time(us)"});
  if (!columns.complete()) return;
  const int release = columns.Want({"Release Time(us)", "Duration(us)"}) < 0
                          ? -1
                          : columns.Find({"Release Time(us)"});
  const int active = columns.Find({"Active Release Time(us)"});
  const int dur = columns.Find({"Duration(us)"});
  const int device = columns.Find({"Device Type", "Device"});
  const int stream = columns.Find({"Stream Ptr"});
  const bool in_mb = columns.Find({"Allocation Total Allocated(MB)"}) >= 0;
  const double unit = in_mb ? kMb : kKb;
  const std::array<int, 6> totals = TotalColumns(columns, in_mb ? "(MB)" : "(KB)");
  const int32_t framework = rows.names.Intern("PTA");
  const int32_t graph_engine = rows.names.Intern("GE");
  columns.ForEachRow([&](const CsvRow& row) {
    store::MemoryBlockRow block;
    const auto begin = Ns(row, alloc);
    block.size_bytes = columns.Bytes(row, size, kKb);
    if (!begin || *begin < 0) return columns.BadCell();
    block.process_id = trace.process_id;
    SetDevice(Cell(row, device), block.device_type, block.device_index);
    block.alloc_ts = *begin;
    block.free_ts = columns.NsOr(row, release, -1);
    // Files of the device tool have a duration in place of the release.
    const auto span = Ns(row, release < 0 ? dur : -1);
    int64_t end = 0;
    if (release < 0 && span && !__builtin_add_overflow(*begin, *span, &end)) block.free_ts = end;
    block.active_free_ts = columns.NsOr(row, active, -1);
    block.alloc_total_allocated = columns.Bytes(row, totals[0], unit);
    block.alloc_total_reserved = columns.Bytes(row, totals[1], unit);
    block.alloc_total_active = columns.Bytes(row, totals[2], unit);
    block.free_total_allocated = columns.Bytes(row, totals[3], unit);
    block.free_total_reserved = columns.Bytes(row, totals[4], unit);
    block.free_total_active = columns.Bytes(row, totals[5], unit);
    block.stream = columns.IntOr(row, stream, 0);
    block.name = rows.names.Intern(Cell(row, name));
    const bool is_framework = stream >= 0 && !Cell(row, stream).empty();
    block.component = is_framework ? framework : graph_engine;
    rows.memory_blocks.push_back(block);
  });
}

// The curve. Each row has the totals; the change against the row before is the size of the event.
void CurveRows(const SpanFile& file, std::string_view text, TextTrace& trace) {
  TraceRows& rows = trace.rows;
  Columns columns(text, file, rows.issues);
  const int component = columns.Need({"Component"});
  const int time = columns.Need({"Timestamp(us)"});
  if (!columns.complete()) return;
  const bool in_mb = columns.Find({"Total Allocated(MB)"}) >= 0;
  const double unit = in_mb ? kMb : kKb;
  const int allocated = columns.Want({"Total Allocated(MB)", "Total Allocated(KB)"});
  const int reserved = columns.Want({"Total Reserved(MB)", "Total Reserved(KB)"});
  const int active = columns.Find({"Total Active(MB)", "Total Active(KB)"});
  const int stream = columns.Find({"Stream Ptr"});
  const int device = columns.Find({"Device Type", "Device"});
  std::map<std::pair<int32_t, int32_t>, int64_t> last;  // by component and device
  columns.ForEachRow([&](const CsvRow& row) {
    const auto ts = Ns(row, time);
    if (!ts || *ts < 0) return columns.BadCell();
    if (Cell(row, component) == "PTA+GE") return;  // the sum of two others
    store::MemoryEventRow event;
    event.ts = *ts;
    event.process_id = trace.process_id;
    SetDevice(Cell(row, device), event.device_type, event.device_index);
    event.total_allocated = columns.Bytes(row, allocated, unit);
    event.total_reserved = columns.Bytes(row, reserved, unit);
    event.total_active = columns.Bytes(row, active, unit);
    event.stream = columns.IntOr(row, stream, 0);
    event.component = rows.names.Intern(Cell(row, component));
    if (event.total_allocated >= 0) {
      int64_t& before =
          last.try_emplace({event.component, event.device_index}, event.total_allocated)
              .first->second;
      event.size_bytes = Change(event.total_allocated, before);
      before = event.total_allocated;
    }
    rows.memory_events.push_back(event);
  });
}

void ModuleMemoryRows(const SpanFile& file, std::string_view text, TextTrace& trace) {
  TraceRows& rows = trace.rows;
  Columns columns(text, file, rows.issues);
  const int component = columns.Need({"Component"});
  const int time = columns.Need({"Timestamp(us)"});
  const int reserved = columns.Need({"Total Reserved(MB)", "Total Reserved(KB)"});
  if (!columns.complete()) return;
  const int device = columns.Find({"Device"});
  const double unit = columns.Find({"Total Reserved(MB)"}) >= 0 ? kMb : kKb;
  columns.ForEachRow([&](const CsvRow& row) {
    const auto ts = Ns(row, time);
    const auto value = base::ParseDouble(Cell(row, reserved));
    if (!ts || !value || !(*value >= 0) || !std::isfinite(*value)) return columns.BadCell();
    const int32_t track = rows.Track({.kind = capture::TrackKind::kCounter,
                                      .name = Concat("NPU Module ", Cell(row, component), " B"),
                                      .process_id = trace.process_id,
                                      .device_id = DeviceOf(Cell(row, device))});
    rows.counters.push_back({.ts = *ts, .track_id = track, .value = *value * unit});
  });
}

}  // namespace

void RowsOfCsv(const SpanFile& file, std::string_view text, TextTrace& trace) {
  const std::string_view name = base::BaseName(file.path);
  if (name.starts_with("kernel_details") || name.starts_with("op_summary")) {
    KernelRows(file, text, trace).Run();
  } else if (name.starts_with("operator_memory") || name.starts_with("ge_operator_memory")) {
    BlockRows(file, text, trace);
  } else if (name.starts_with("memory_record") || name.starts_with("ge_memory_record")) {
    CurveRows(file, text, trace);
  } else if (name.starts_with("npu_module_mem") && !trace.has_module_counters) {
    ModuleMemoryRows(file, text, trace);
  }
}

}  // namespace sonde::importers::text_import
