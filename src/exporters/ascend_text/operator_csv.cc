#include <memory>

#include "base/strings.h"
#include "exporters/ascend_text/csv_files.h"
#include "exporters/ascend_text/operator_fragments.h"
#include "recipes/operator_details/operator_details.h"

namespace sonde::exporters {
namespace {

using recipes::OperatorRow;
using recipes::TraceData;

constexpr size_t kOperatorRowsPerPiece = 3072;
constexpr std::string_view kHeader =
    "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),"
    "Device Self Duration(us),Device Total Duration(us),Device Self Duration With AICore(us),"
    "Device Total Duration With AICore(us)\r\n";

// store::kNone has the first place.
size_t Place(int32_t id) { return static_cast<size_t>(int64_t{id} + 1); }

// Cells that repeat, ready for the file, with the comma behind.
struct Cells {
  std::vector<std::string> name;       // by name id + 1
  std::vector<std::string> signature;  // by signature id + 1
  std::vector<std::string> stack;      // by stack id + 1

  explicit Cells(const TraceData& data) : name(data.names.size() + 1) {
    name[0] = ",";
    for (const store::FrameworkOpRow& op : data.ops) {
      const int32_t id = data.Slice(op.slice_id).name;
      std::string& cell = name[Place(id)];
      if (cell.empty()) cell = CsvCell(data.Name(id)) + ",";
    }
    signature.emplace_back(",");
    for (const store::OpSignatureRow& row : data.signatures) {
      signature.push_back(CsvCell(BreakLines(data.Name(row.input_shapes))) + ",");
    }
    stack.emplace_back(",");
    for (size_t i = 0; i + 1 < data.stack_begin.size(); ++i) {
      stack.push_back(CsvCell(StackText(data, i)) + ",");
    }
  }
};

void AppendRow(const TraceData& data, const Cells& cells, const OperatorRow& row, LineBuffer& out) {
  const store::FrameworkOpRow& op = data.ops[row.op];
  out.Append(cells.name[Place(data.Slice(op.slice_id).name)]);
  out.Append(cells.signature[Place(op.signature_id)]);
  out.Append(cells.stack[Place(op.stack_id)]);
  out.MicrosecondsShort(row.host_self_ns);
  out.Append(',');
  out.MicrosecondsShort(row.host_total_ns);
  out.Append(',');
  out.MicrosecondsOrZero(row.device_self_ns);
  out.Append(',');
  out.MicrosecondsOrZero(row.device_total_ns);
  out.Append(',');
  out.MicrosecondsOrZero(row.aicore_self_ns);
  out.Append(',');
  out.MicrosecondsOrZero(row.aicore_total_ns);
  out.Append("\r\n");
}

}  // namespace

void AddOperatorDetails(const ExportContext& context, FileSet& files) {
  const TraceData& data = context.data();
  const auto rows =
      std::make_shared<const std::vector<OperatorRow>>(recipes::OperatorDetails(data));
  if (rows->empty()) return;
  const auto cells = std::make_shared<const Cells>(data);
  const size_t pieces = (rows->size() + kOperatorRowsPerPiece - 1) / kOperatorRowsPerPiece;
  files.Add("operator_details.csv", pieces, [&data, rows, cells](size_t piece, LineBuffer& out) {
    if (piece == 0) out.Append(kHeader);
    const size_t end = std::min((piece + 1) * kOperatorRowsPerPiece, rows->size());
    for (size_t i = piece * kOperatorRowsPerPiece; i < end; ++i)
      AppendRow(data, *cells, (*rows)[i], out);
  });
}

}  // namespace sonde::exporters
