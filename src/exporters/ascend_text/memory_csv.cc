#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "exporters/ascend_text/csv_files.h"
#include "recipes/memory_record/memory_record.h"
#include "recipes/operator_memory/operator_memory.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

constexpr size_t kMemoryRowsPerPiece = 8192;
constexpr std::string_view kOperatorHeader =
    "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"
    "Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
    "Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),"
    "Release Total Active(MB),Stream Ptr,Device Type\r\n";
constexpr std::string_view kRecordHeader =
    "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,"
    "Device Type\r\n";

void AppendDouble(double value, LineBuffer& out) {
  base::NumberBuffer buffer;
  out.Append(base::FormatPythonDouble(value, buffer));
}

// ,<MB>   empty where the allocator does not report it
void AppendMegabytes(int64_t bytes, LineBuffer& out) {
  out.Append(',');
  if (bytes >= 0) AppendDouble(static_cast<double>(bytes) / (1024.0 * 1024.0), out);
}

// ,<time><TAB>   empty where it did not happen
void AppendTime(int64_t ns, LineBuffer& out) {
  out.Append(',');
  if (ns < 0) return;
  out.Microseconds(ns);
  out.Append('\t');
}

// Databases name the operators of the graph engine without their layer.
std::string OwnerText(const TraceData& data, const recipes::OperatorMemoryRow& row) {
  const std::string_view name = data.Name(row.name);
  constexpr std::string_view kLayer = "cann::";
  const bool lacks_layer = row.is_graph_engine && !name.empty() && !name.starts_with(kLayer);
  return base::Concat(lacks_layer ? kLayer : "", name);
}

// ,<duration><TAB>   those of the graph engine without the TAB and without zeros at the end
void AppendLife(int64_t ns, bool is_graph_engine, LineBuffer& out) {
  if (!is_graph_engine) return AppendTime(ns, out);
  out.Append(',');
  if (ns >= 0) out.MicrosecondsShort(ns);
}

void AppendBlock(const TraceData& data, const recipes::OperatorMemoryRow& row, LineBuffer& out) {
  const store::MemoryBlockRow& block = data.memory_blocks[row.block];
  out.Append(CsvCell(OwnerText(data, row)));
  out.Append(',');
  AppendDouble(static_cast<double>(block.size_bytes) / 1024.0, out);
  AppendTime(block.alloc_ts, out);
  AppendTime(block.free_ts, out);
  AppendTime(row.active_free_ts, out);
  AppendLife(recipes::LifeNs(block, block.free_ts), row.is_graph_engine, out);
  AppendLife(recipes::LifeNs(block, row.active_free_ts), row.is_graph_engine, out);
  AppendMegabytes(block.alloc_total_allocated, out);
  AppendMegabytes(block.alloc_total_reserved, out);
  AppendMegabytes(block.alloc_total_active, out);
  AppendMegabytes(block.free_total_allocated, out);
  AppendMegabytes(block.free_total_reserved, out);
  AppendMegabytes(block.free_total_active, out);
  out.Append(',');
  if (!row.is_graph_engine) out.Int(block.stream);
  out.Append(',');
  out.Append(recipes::DeviceTypeText(block.device_type, block.device_index));
  out.Append("\r\n");
}

void AppendLine(const store::MemoryEventRow& event, const recipes::MemoryLine& line,
                LineBuffer& out) {
  out.Append(CsvCell(line.component));
  AppendTime(event.ts, out);
  AppendMegabytes(line.total_allocated, out);
  AppendMegabytes(line.total_reserved, out);
  AppendMegabytes(line.total_active, out);
  out.Append(',');
  if (line.stream) out.Int(*line.stream);
  out.Append(',');
  out.Append(recipes::DeviceTypeText(event.device_type, event.device_index));
  out.Append("\r\n");
}

void AppendEvent(const TraceData& data, const recipes::MemoryRecordRow& row, LineBuffer& out) {
  const store::MemoryEventRow& event = data.memory_events[row.event];
  AppendLine(event, recipes::EventLine(data, row), out);
  if (row.has_sum) AppendLine(event, recipes::SumLine(data, row), out);
}

template <class AppendRow>
void AddTable(FileSet& files, std::string name, std::string_view header, size_t rows,
              const AppendRow& append_row) {
  if (rows == 0) return;
  files.Add(std::move(name), (rows + kMemoryRowsPerPiece - 1) / kMemoryRowsPerPiece,
            [header, rows, append_row](size_t piece, LineBuffer& out) {
              if (piece == 0) out.Append(header);
              const size_t end = std::min((piece + 1) * kMemoryRowsPerPiece, rows);
              for (size_t i = piece * kMemoryRowsPerPiece; i < end; ++i) append_row(i, out);
            });
}

}  // namespace

void AddOperatorMemory(const ExportContext& context, FileSet& files) {
  const TraceData& data = context.data();
  const auto rows = std::make_shared<const std::vector<recipes::OperatorMemoryRow>>(
      recipes::OperatorMemory(data));
  AddTable(files, "operator_memory.csv", kOperatorHeader, rows->size(),
           [&data, rows](size_t i, LineBuffer& out) { AppendBlock(data, (*rows)[i], out); });
}

void AddMemoryRecord(const ExportContext& context, FileSet& files) {
  const TraceData& data = context.data();
  const auto rows =
      std::make_shared<const std::vector<recipes::MemoryRecordRow>>(recipes::MemoryRecord(data));
  AddTable(files, "memory_record.csv", kRecordHeader, rows->size(),
           [&data, rows](size_t i, LineBuffer& out) { AppendEvent(data, (*rows)[i], out); });
}

}  // namespace sonde::exporters
