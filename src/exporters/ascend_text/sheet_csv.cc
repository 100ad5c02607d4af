#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/host/json.h"
#include "base/strings.h"
#include "exporters/ascend_text/csv_files.h"
#include "exporters/format/line_buffer.h"
#include "importers/ascend/device_sheets.h"

namespace sonde::exporters {
namespace {

using importers::DeviceSheet;
using importers::SheetCell;
using importers::SheetColumn;
using importers::SheetRows;
using recipes::DeviceView;
using recipes::TraceData;

constexpr size_t kSheetRowsPerPiece = 4096;

// A row that is a slice, or a task with its slice.
struct Row {
  int32_t slice = store::kNone;
  int32_t task = store::kNone;  // index
};

// Whether any slice has such an argument: few traces have, and looking for it in each task is slow.
bool HasArgument(const TraceData& data, std::string_view key) {
  const auto name = std::ranges::find(data.names, key);
  if (name == data.names.end()) return false;
  const auto number = static_cast<int32_t>(name - data.names.begin());
  return std::ranges::find(data.text_args, number, &store::ArgsTextRow::key) !=
         data.text_args.end();
}

std::vector<Row> RowsOf(const TraceData& data, const DeviceSheet& sheet) {
  std::vector<Row> rows;
  if (sheet.rows == SheetRows::kSlices) {
    for (const int32_t id : data.SlicesOfKinds({recipes::TrackKind::kDeviceLayer})) {
      if (data.Name(data.Slice(id).category) == sheet.name) rows.push_back({.slice = id});
    }
    std::ranges::stable_sort(rows, {}, [&](const Row& row) {
      const store::SliceRow& slice = data.Slice(row.slice);
      return std::pair(data.TrackOf(slice).device_id, slice.ts);
    });
    return rows;
  }
  if (!HasArgument(data, sheet.marked_by)) return rows;
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const int32_t id = data.tasks[i].slice_id;
    if (id < 0 || data.TextArgument(data.Slice(id).args_id, sheet.marked_by).empty()) continue;
    rows.push_back({.slice = id, .task = static_cast<int32_t>(i)});
  }
  return rows;
}

void AppendMoment(int64_t ts, LineBuffer& out) {
  out.Microseconds(ts);
  out.Append('\t');  // keeps spreadsheets from rounding it
}

void AppendText(std::string_view text, LineBuffer& out) {
  out.Append(text.empty() ? "N/A" : CsvCell(text));
}

void AppendName(const TraceData& data, const Row& row, LineBuffer& out) {
  if (row.task < 0) return AppendText(data.Name(data.Slice(row.slice).name), out);
  const store::DeviceTaskRow& task = data.tasks[static_cast<size_t>(row.task)];
  const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
  AppendText(kind.core == store::kNone ? std::string_view() : data.Name(kind.name), out);
}

void AppendCell(const DeviceView& view, const Row& row, const SheetColumn& column,
                LineBuffer& out) {
  const TraceData& data = *view.data;
  const store::SliceRow& slice = data.Slice(row.slice);
  const store::DeviceTaskRow* task =
      row.task < 0 ? nullptr : &data.tasks[static_cast<size_t>(row.task)];
  switch (column.cell) {
    case SheetCell::kDevice:
      return out.Int(task != nullptr ? view.DeviceOfTask(*task).device_id
                                     : data.TrackOf(slice).device_id);
    case SheetCell::kStream:
      return out.Int(task != nullptr ? view.StreamOf(*task) : -1);
    case SheetCell::kNumber:
      return out.Int(task == nullptr           ? -1
                     : task->queue_number >= 0 ? task->queue_number
                                               : task->task_id);
    case SheetCell::kName:
      return AppendName(data, row, out);
    case SheetCell::kBegin:
      return AppendMoment(slice.ts, out);
    case SheetCell::kEnd:
      return AppendMoment(data.EndNs(slice), out);
    case SheetCell::kDuration:
      return out.Microseconds(data.DurationNs(slice));
    case SheetCell::kArgument:
      const std::string_view key = column.key.empty() ? column.header : column.key;
      return AppendText(data.TextArgument(slice.args_id, key), out);
  }
}

template <class Take>
void ForEachColumn(const DeviceSheet& sheet, LineBuffer& out, const Take& take) {
  for (size_t i = 0; i < sheet.columns.size() && !sheet.columns[i].header.empty(); ++i) {
    if (i > 0) out.Append(',');
    take(sheet.columns[i]);
  }
  out.Append("\r\n");
}

void AppendHeader(const DeviceSheet& sheet, LineBuffer& out) {
  ForEachColumn(sheet, out, [&](const SheetColumn& column) { out.Append(CsvCell(column.header)); });
}

// Rows without a time, as the importer found them.
void AppendFacts(const DeviceSheet& sheet, std::string_view json, LineBuffer& out) {
  const auto document = base::JsonDocument::Parse(json, sheet.name);
  if (!document.ok()) return;
  AppendHeader(sheet, out);
  for (const base::JsonValue& row : document->root().Elements()) {
    bool is_first = true;
    for (const base::JsonValue& cell : row.Elements()) {
      if (!is_first) out.Append(',');
      is_first = false;
      AppendText(cell.AsString().value_or(""), out);
    }
    out.Append("\r\n");
  }
}

void AddFacts(const TraceData& data, const DeviceSheet& sheet, const std::string& name,
              FileSet& files) {
  const auto fact = data.metadata.find(sheet.name);
  if (fact == data.metadata.end()) return;
  files.Add(name, 1, [&sheet, json = std::string_view(fact->second)](size_t, LineBuffer& out) {
    AppendFacts(sheet, json, out);
  });
}

}  // namespace

void AddDeviceSheets(const ExportContext& context, FileSet& files, bool is_of_framework,
                     std::string_view end) {
  const DeviceView& view = context.view;
  for (const DeviceSheet& sheet : importers::DeviceSheets()) {
    const std::string_view file = is_of_framework ? sheet.framework_file : sheet.name;
    if (file.empty()) continue;
    const std::string name = base::Concat(file, end);
    if (sheet.rows == SheetRows::kFacts) {
      AddFacts(*view.data, sheet, name, files);
      continue;
    }
    const auto rows = std::make_shared<const std::vector<Row>>(RowsOf(*view.data, sheet));
    const size_t pieces = (rows->size() + kSheetRowsPerPiece - 1) / kSheetRowsPerPiece;
    if (pieces == 0) continue;
    files.Add(name, pieces, [&view, &sheet, rows](size_t piece, LineBuffer& out) {
      if (piece == 0) AppendHeader(sheet, out);
      const size_t last = std::min((piece + 1) * kSheetRowsPerPiece, rows->size());
      for (size_t i = piece * kSheetRowsPerPiece; i < last; ++i) {
        ForEachColumn(sheet, out, [&](const SheetColumn& column) {
          AppendCell(view, (*rows)[i], column, out);
        });
      }
    });
  }
}

}  // namespace sonde::exporters
