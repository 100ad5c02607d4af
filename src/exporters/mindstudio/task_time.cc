#include "exporters/mindstudio/task_time.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "exporters/format/line_buffer.h"
#include "exporters/format/task_parts.h"

namespace sonde::exporters {
namespace {

using recipes::DeviceView;
using recipes::TraceData;

constexpr size_t kTaskRowsPerPiece = 4096;

const store::TaskKindRow& KindOf(const TraceData& data, const store::DeviceTaskRow& task) {
  return data.kinds[static_cast<size_t>(task.kind_id)];
}

// Tasks that are shown: those whose parts lie in their time are not, nor are later parts.
std::vector<size_t> ShownTasks(const DeviceView& view) {
  const TraceData& data = *view.data;
  const TaskParts parts(data);
  std::vector<size_t> order = WholeFirst(data);
  if (parts.has_parts.empty()) return order;
  std::erase_if(order, [&](size_t i) {
    const int64_t context = KindOf(data, data.tasks[i]).context_id;
    return parts.has_parts[i] || (parts.is_part[i] && context > 0);
  });
  return order;
}

// The kind of cores of a kernel, else what the task does.
std::string_view TypeOf(const TraceData& data, const store::TaskKindRow& kind) {
  const std::string_view type = data.Name(kind.task_type);
  const bool is_kernel = kind.core != store::kNone;
  return is_kernel && (type.empty() || type.starts_with("KERNEL_")) ? data.Name(kind.core) : type;
}

void AppendTask(const DeviceView& view, size_t index, LineBuffer& out) {
  const store::DeviceTaskRow& task = view.data->tasks[index];
  const store::TaskKindRow& kind = KindOf(*view.data, task);
  const bool has_name = kind.core != store::kNone;
  out.Int(view.DeviceOfTask(task).device_id);
  out.Append(',');
  out.Append(has_name ? CsvCell(view.data->Name(kind.name)) : "N/A");
  out.Append(',');
  const std::string_view type = TypeOf(*view.data, kind);
  out.Append(type.empty() ? "N/A" : CsvCell(type));
  out.Append(',');
  out.Int(view.StreamOf(task));
  out.Append(',');
  out.Int(task.queue_number >= 0 ? task.queue_number : task.task_id);
  out.Append(',');
  out.Microseconds(std::max<int64_t>(task.dur, 0));
  out.Append(',');
  out.Microseconds(task.ts);
  out.Append("\t,");
  out.Microseconds(task.ts + std::max<int64_t>(task.dur, 0));
  out.Append("\t\r\n");
}

}  // namespace

void AddTaskTime(const ExportContext& context, const std::string& name, FileSet& files) {
  const DeviceView& view = context.view;
  const auto shown = std::make_shared<const std::vector<size_t>>(ShownTasks(view));
  if (shown->empty()) return;
  const size_t pieces = (shown->size() + kTaskRowsPerPiece - 1) / kTaskRowsPerPiece;
  files.Add(name, pieces, [&view, shown](size_t piece, LineBuffer& out) {
    if (piece == 0) {
      out.Append(
          "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),"
          "task_stop(us)\r\n");
    }
    const size_t end = std::min((piece + 1) * kTaskRowsPerPiece, shown->size());
    for (size_t i = piece * kTaskRowsPerPiece; i < end; ++i) AppendTask(view, (*shown)[i], out);
  });
}

}  // namespace sonde::exporters
