// MindSpore's element types in captures, and the table of what kernels of its compiled graphs take.
//
// Metadata `kernel_shapes:<file>` is JSON: {"kinds": [[shapes, types, formats, shapes, types,
// formats], ...], "kernels": {scope: index of its kind}}; of a kind the first three are of its
// inputs, the others of its outputs, each "a,b;c" with ';' between tensors; types are MindSpore's.
#pragma once

#include <cstdint>
#include <string_view>

namespace sonde::capture {

inline constexpr std::string_view kKernelShapesKey = "kernel_shapes:";

// "Float32": the position in torch's ScalarType, which captures use; 255: another type.
constexpr uint8_t MindsporeTypeCode(std::string_view name) {
  struct Row {
    std::string_view name;
    uint8_t code;
  };
  constexpr Row kRows[] = {
      {"Float32", 6}, {"Int64", 4},   {"Bool", 11},   {"Float16", 5},   {"BFloat16", 15},
      {"Int32", 3},   {"Float64", 7}, {"Int8", 1},    {"Int16", 2},     {"UInt8", 0},
      {"UInt16", 27}, {"UInt32", 28}, {"UInt64", 29}, {"Complex64", 9}, {"Complex128", 10},
  };
  for (const Row& row : kRows) {
    if (row.name == name) return row.code;
  }
  return 255;
}

}  // namespace sonde::capture
