#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "exporters/ascend_text/csv_files.h"
#include "recipes/operator_memory/operator_memory.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

constexpr size_t kRowsPerPiece = 8192;
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

// ,<MB>   empty where the allocator does not say
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

void AppendBlock(const TraceData& data, const recipes::OperatorMemoryRow& row, LineBuffer& out) {
  const store::MemoryBlockRow& block = data.memory_blocks[row.block];
  out.Append(CsvCell(data.Name(row.name)));
  out.Append(',');
  AppendDouble(static_cast<double>(block.size_bytes) / 1024.0, out);
  const int64_t dur_ns = block.free_ts < 0 ? -1 : block.free_ts - block.alloc_ts;
  AppendTime(block.alloc_ts, out);
  AppendTime(block.free_ts, out);
  AppendTime(block.free_ts, out);
  AppendTime(dur_ns, out);
  AppendTime(dur_ns, out);
  AppendMegabytes(block.alloc_total_allocated, out);
  AppendMegabytes(block.alloc_total_reserved, out);
  AppendMegabytes(block.alloc_total_active, out);
  AppendMegabytes(block.free_total_allocated, out);
  AppendMegabytes(block.free_total_reserved, out);
  AppendMegabytes(block.free_total_active, out);
  out.Append(',');
  out.Int(block.stream);
  out.Append(',');
  out.Append(recipes::DeviceTypeText(block.device_type, block.device_index));
  out.Append("\r\n");
}

// Once for the framework's allocator and once for the sum over all allocators, of which it is the
// only one: the peer's files have both.
void AppendEvent(const store::MemoryEventRow& event, LineBuffer& out) {
  for (const std::string_view component : {"PTA", "PTA+GE"}) {
    out.Append(component);
    AppendTime(event.ts, out);
    AppendMegabytes(event.total_allocated, out);
    AppendMegabytes(event.total_reserved, out);
    AppendMegabytes(event.total_active, out);
    out.Append(',');
    out.Int(event.stream);
    out.Append(',');
    out.Append(recipes::DeviceTypeText(event.device_type, event.device_index));
    out.Append("\r\n");
  }
}

template <class AppendRow>
void AddTable(FileSet& files, std::string name, std::string_view header, size_t rows,
              const AppendRow& append_row) {
  if (rows == 0) return;
  files.Add(std::move(name), (rows + kRowsPerPiece - 1) / kRowsPerPiece,
            [header, rows, append_row](size_t piece, LineBuffer& out) {
              if (piece == 0) out.Append(header);
              const size_t end = std::min((piece + 1) * kRowsPerPiece, rows);
              for (size_t i = piece * kRowsPerPiece; i < end; ++i) append_row(i, out);
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
  AddTable(files, "memory_record.csv", kRecordHeader, data.memory_events.size(),
           [&data](size_t i, LineBuffer& out) { AppendEvent(data.memory_events[i], out); });
}

}  // namespace sonde::exporters
