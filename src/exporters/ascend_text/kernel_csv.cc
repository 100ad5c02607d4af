#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/strings.h"
#include "exporters/ascend_text/csv_files.h"
#include "exporters/format/task_shapes.h"
#include "recipes/kernel_details/kernel_details.h"

namespace sonde::exporters {
namespace {

using recipes::DeviceView;
using recipes::KernelRow;
using recipes::ProfilerLevel;
using recipes::TraceData;

constexpr size_t kKernelRowsPerPiece = 3072;

// Which columns there are: by level, and whether there are steps and shapes.
struct Layout {
  bool steps = false;
  bool full = false;     // level 1 and 2
  bool shapes = false;   // at level 0
  bool summary = false;  // op_summary
};

Layout LayoutOf(const DeviceView& view, bool is_summary) {
  Layout layout;
  layout.steps = !is_summary && !view.data->steps.empty();
  layout.full = view.settings.level != ProfilerLevel::kLevel0;
  layout.shapes = !is_summary && !layout.full && view.settings.record_shapes;
  layout.summary = is_summary;
  return layout;
}

constexpr std::string_view kShapeColumns =
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";

std::string Header(const Layout& layout, const std::vector<std::string>& counters) {
  std::string header = layout.steps ? "Step Id,Device_id," : "Device_id,";
  const std::string_view times = layout.summary
                                     ? "Task Start Time(us),Task Duration(us),Task Wait Time(us),"
                                     : "Start Time(us),Duration(us),Wait Time(us),";
  const std::string_view what = layout.summary ? "Op Name,OP Type," : "Name,Type,";
  const std::string_view core = layout.summary ? "Task Type," : "Accelerator Core,";
  if (layout.full) {
    header += base::Concat("Model ID,Task ID,Stream ID,", what, "OP State,", core, times,
                           "Block Num,Mix Block Num,HF32 Eligible,");
    header += kShapeColumns;
    header += ",Context ID";
    for (const std::string& name : counters) header += base::Concat(",", CsvCell(name));
  } else {
    header += base::Concat(what, core, times, "Block Num");
    if (layout.shapes) header += base::Concat(",Mix Block Num,", kShapeColumns);
  }
  return header + "\r\n";
}

std::string OrNotAvailable(std::string_view text) { return text.empty() ? "N/A" : CsvCell(text); }

std::string NumberOr(int64_t value, std::string_view fallback) {
  return value < 0 ? std::string(fallback) : std::to_string(value);
}

// Shapes keep quotes of their own inside the cell: "32,3" is written """32,3""", that of a scalar
// """""".
std::string ShapeCell(const TraceData& data, const store::TaskKindRow& kind, int32_t shapes,
                      int32_t types) {
  if (!HasShapes(data, kind, shapes, types)) return "N/A";
  return CsvCell(base::Concat("\"", data.Name(shapes), "\""));
}

// What rows of one kind share: the cells between stream and start time, and those after the wait.
struct KindCells {
  std::vector<std::string> before;
  std::vector<std::string> after;

  KindCells(const TraceData& data, const Layout& layout) {
    for (const store::TaskKindRow& kind : data.kinds) {
      const std::string name = CsvCell(data.Name(kind.name));
      const std::string type = OrNotAvailable(data.Name(kind.op_type));
      const std::string core = OrNotAvailable(data.Name(kind.core));
      const std::string shapes =
          base::Concat(ShapeCell(data, kind, kind.input_shapes, kind.input_types), ",",
                       OrNotAvailable(data.Name(kind.input_types)), ",",
                       OrNotAvailable(data.Name(kind.input_formats)), ",",
                       ShapeCell(data, kind, kind.output_shapes, kind.output_types), ",",
                       OrNotAvailable(data.Name(kind.output_types)), ",",
                       OrNotAvailable(data.Name(kind.output_formats)));
      const std::string block = NumberOr(kind.block_num, "0");
      const std::string mix_block = NumberOr(kind.mix_block_num, "0");
      if (layout.full) {
        before.push_back(base::Concat(name, ",", type, ",",
                                      OrNotAvailable(data.Name(kind.op_state)), ",", core, ","));
        after.push_back(base::Concat(",", block, ",", mix_block, ",",
                                     OrNotAvailable(data.Name(kind.hf32)), ",", shapes, ",",
                                     NumberOr(kind.context_id, "N/A")));
      } else {
        before.push_back(base::Concat(name, ",", type, ",", core, ","));
        after.push_back(layout.shapes ? base::Concat(",", block, ",", mix_block, ",", shapes)
                                      : base::Concat(",", block));
      }
    }
  }
};

class KernelFile {
 public:
  KernelFile(const DeviceView& view, bool is_summary)
      : view_(view),
        layout_(LayoutOf(view, is_summary)),
        kinds_(*view.data, layout_),
        rows_(recipes::KernelDetails(view)) {
    FindCounters();
  }

  size_t rows() const { return rows_.size(); }

  void Append(size_t piece, LineBuffer& out) const {
    if (piece == 0) out.Append(Header(layout_, counter_names_));
    const size_t end = std::min((piece + 1) * kKernelRowsPerPiece, rows_.size());
    for (size_t i = piece * kKernelRowsPerPiece; i < end; ++i) {
      if (rows_[i].is_communication) {
        AppendCommunication(rows_[i], out);
      } else {
        AppendTask(rows_[i], out);
      }
    }
  }

 private:
  // Names of the hardware counters in the order in which tasks have them.
  void FindCounters() {
    if (!layout_.full) return;
    for (const store::DeviceTaskPmuRow& row : view_.data->pmu) {
      const auto [place, is_new] = counter_place_.try_emplace(row.metric, counter_names_.size());
      if (is_new) counter_names_.emplace_back(view_.data->Name(row.metric));
    }
  }

  void AppendCounters(uint32_t task, LineBuffer& out) const {
    if (counter_names_.empty()) return;
    std::vector<std::string> cells(counter_names_.size(), "N/A");
    const auto& all = view_.data->pmu;
    const auto task_id = static_cast<int32_t>(task);
    auto row = std::lower_bound(
        all.begin(), all.end(), task_id,
        [](const store::DeviceTaskPmuRow& a, int32_t id) { return a.task_id < id; });
    for (; row != all.end() && row->task_id == task_id; ++row) {
      const size_t place = counter_place_.at(row->metric);
      constexpr double kExact = 9e15;
      const bool is_count =
          counter_names_[place].ends_with("_cycles") && row->value >= 0 && row->value < kExact;
      cells[place] = is_count ? std::to_string(static_cast<int64_t>(row->value))
                              : base::PythonDoubleText(row->value);
    }
    for (const std::string& cell : cells) {
      out.Append(',');
      out.Append(cell);
    }
  }

  void AppendStep(int64_t step_id, LineBuffer& out) const {
    if (!layout_.steps) return;
    if (step_id >= 0) out.Int(step_id);
    out.Append(',');
  }

  void AppendTimes(int64_t start_ns, int64_t dur_ns, int64_t wait_ns, LineBuffer& out) const {
    out.Microseconds(start_ns);
    out.Append("\t,");
    out.Microseconds(dur_ns);
    out.Append(',');
    if (wait_ns == 0) {
      out.Append('0');
    } else {
      out.Microseconds(wait_ns);
    }
  }

  void AppendTask(const KernelRow& row, LineBuffer& out) const {
    const store::DeviceTaskRow& task = view_.data->tasks[row.index];
    const auto kind = static_cast<size_t>(task.kind_id);
    AppendStep(task.step_id, out);
    out.Int(view_.DeviceOfTask(task).device_id);
    out.Append(',');
    if (layout_.full) {
      const int64_t model = view_.data->kinds[kind].model_id;
      out.Int(model < 0 ? int64_t{4294967295} : model);
      out.Append(',');
      out.Int(task.queue_number >= 0 ? task.queue_number : task.task_id);
      out.Append(',');
      out.Int(view_.StreamOf(task));
      out.Append(',');
    }
    out.Append(kinds_.before[kind]);
    AppendTimes(task.ts, std::max<int64_t>(task.dur, 0), row.wait_ns, out);
    out.Append(kinds_.after[kind]);
    AppendCounters(row.index, out);
    out.Append("\r\n");
  }

  void AppendCommunication(const KernelRow& row, LineBuffer& out) const {
    const store::CommunicationOpRow& op = view_.data->communications[row.index];
    const recipes::CommunicationView& shown = view_.communications[row.index];
    AppendStep(op.step_id, out);
    out.Int(view_.devices[shown.device].device_id);
    out.Append(layout_.full ? ",4294967295,N/A,N/A," : ",");
    out.Append(CsvCell(shown.name));
    out.Append(',');
    out.Append(CsvCell(shown.type));
    out.Append(layout_.full ? ",N/A,COMMUNICATION," : ",COMMUNICATION,");
    AppendTimes(op.ts, view_.EndNs(op) - op.ts, row.wait_ns, out);
    if (layout_.full) {
      out.Append(",0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A");
      for (size_t i = 0; i < counter_names_.size(); ++i) out.Append(",N/A");
      out.Append("\r\n");
    } else {
      out.Append(layout_.shapes ? ",0,N/A,N/A,N/A,N/A,N/A,N/A,N/A\r\n" : ",0\r\n");
    }
  }

  const DeviceView& view_;
  Layout layout_;
  KindCells kinds_;
  std::vector<KernelRow> rows_;
  std::vector<std::string> counter_names_;
  std::map<int32_t, size_t> counter_place_;
};

void AddKernels(const ExportContext& context, const std::string& name, bool is_summary,
                FileSet& files) {
  const auto file = std::make_shared<const KernelFile>(context.view, is_summary);
  if (file->rows() == 0) return;
  files.Add(name, (file->rows() + kKernelRowsPerPiece - 1) / kKernelRowsPerPiece,
            [file](size_t piece, LineBuffer& out) { file->Append(piece, out); });
}

}  // namespace

void AddKernelDetails(const ExportContext& context, FileSet& files) {
  AddKernels(context, "kernel_details.csv", /*is_summary=*/false, files);
}

void AddOpSummary(const ExportContext& context, const std::string& name, FileSet& files) {
  AddKernels(context, name, /*is_summary=*/true, files);
}

}  // namespace sonde::exporters
