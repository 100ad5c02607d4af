// The distinct values of one run, each with its producers and consumers, and the calls that take
// and give them: for JoinKernels(). Forward calls only: JoinGradients() has the others. Parameters
// of cells are values, too.
//
// Tensors with equal number of elements, element type and statistics are one value: a reshape
// gives a value of the same run again. Threads: pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"
#include "precision/kernels/kernel_flow.h"

namespace sonde::precision {

struct RunValue {
  std::string family;  // "float", "int"
  int64_t elements = 0;
  bool is_computed = false;         // a call gives it that does not take it
  bool of_unknown_cell = false;     // a producer that the compiler made
  std::set<std::string> producers;  // paths of cells: "layers.0.attn"
  std::set<std::string> consumers;
  std::set<std::string> results_of;  // cells of a dump that return it
  std::set<std::string> operators;   // of the producers, in lower case without '_'
  bool has_known_operator = false;   // of a dump, see FindKnownOperators()
  std::set<std::string> parameters;  // of the kernels' graph: those that have this value
  std::vector<std::vector<int64_t>> shapes;
  std::vector<const KernelTensor*> tensors;  // of kernels
  std::vector<uint32_t> rows;                // of a dump
};

// Slots ("0", "1.3") and indexes of values.
struct RunCall {
  std::vector<std::pair<std::string, size_t>> inputs;
  std::vector<std::pair<std::string, size_t>> outputs;
};

struct RunValues {
  std::vector<RunValue> values;  // in the order in which they appear first
  std::vector<RunCall> calls;    // kernels; calls of a dump that are no cells
};

// `calls` in the order in which the program makes them, see CallsInGraphOrder().
RunValues ValuesOfKernels(const std::vector<const KernelCall*>& calls);
RunValues ValuesOfDump(const DumpFile& dump, const ConstructFile& construct);

// The same for tensors that are one value.
std::string KeyOfValue(const KernelTensor& tensor);
std::string KeyOfValue(const DumpRow& row);

// "1.3" of the row "<api>.input.1.3".
std::string SlotOf(const DumpRow& row, std::string_view api);

// Whether a row is a tensor with the numbers of which keys are made.
bool HasNumbers(const DumpRow& row);

// "Cell.layers.0.attn.Attention.forward.0" -> "layers.0.attn".
std::string CellPath(std::string_view module_name);
std::vector<int64_t> ShapeOfRow(const DumpRow& row);
int64_t CountElements(const std::vector<int64_t>& shape);

}  // namespace sonde::precision
