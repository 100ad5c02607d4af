// Further tables of the device's own tool, besides those of tasks: their columns, for the reader of
// records and the writer of files.
//
// Rows are slices of a category on layers of a device, or tasks with an argument. Rows without
// times are a fact of the trace: a JSON list of rows, each a list of texts. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace sonde::importers {

enum class SheetRows : uint8_t { kSlices, kTasks, kFacts };

enum class SheetCell : uint8_t {
  kArgument,  // of the slice, or of the task's slice
  kDevice,
  kStream,  // of the task
  kNumber,  // of the task in the device's queue
  kName,
  kBegin,
  kEnd,
  kDuration,
};

struct SheetColumn {
  std::string_view header;
  SheetCell cell = SheetCell::kArgument;
  std::string_view key = {};  // of the argument; "": as the header
};

struct DeviceSheet {
  std::string_view name;  // of the file; category of the slices
  SheetRows rows;
  std::array<SheetColumn, 12> columns;   // up to the first without a header
  std::string_view marked_by = {};       // argument that the rows' tasks have
  std::string_view framework_file = {};  // its name among the framework's tables, "" none
};

std::span<const DeviceSheet> DeviceSheets();

// The fact that holds the rows of a table.
inline constexpr std::string_view kFusedOperators = "fusion_op";
inline constexpr std::string_view kStaticMemory = "static_op_mem";

}  // namespace sonde::importers
