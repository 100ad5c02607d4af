// Kernels that compiled code calls, by the line of the generated module that calls them: the module
// of the model that each computes for, the operators and source lines that it comes from.
//
// A kernel that several modules share is the row of the one whose value it stores last; the others
// are in fused_with. From the arguments that the importer of captures gives such kernels
// (importers/capture/compiled_graphs.h). By total, descending. Units: nanoseconds. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/trace/trace_data.h"
#include "store/result_info.h"

namespace sonde::recipes {

#define SONDE_COLUMNS_COMPILED_KERNEL(C)                                                          \
  C(call, Text, "", KeyOf("compiled_call"), "generated file and line")                            \
  C(kernel, Text, "", KeyOf("kernel"), "what is called")                                          \
  C(path, OptText, "", KeyOf("module"), "module of the model that it computes for; NULL unknown") \
  C(module_class, OptText, "", kLabel, "its class")                                               \
  C(fused_with, OptText, "", kLabel, "other modules of which it computes something")              \
  C(operators, OptText, "", kLabel, "operators that it comes from")                               \
  C(lines, OptText, "", kLabel, "source lines, that of its module first")                         \
  C(output, OptText, "", kLabel, "type and sizes of what it stores last, as compiled")            \
  C(bytes, Opt, "bytes", kNeither, "read and written by a call, as compiled; NULL unknown")       \
  C(flops, Opt, "", kNeither, "floating-point operations of a call, estimated; NULL unknown")     \
  C(calls, Int, "", kNeither, "how many")                                                         \
  C(total_ns, Int, "ns", kLess, "device tasks of these calls")
SONDE_RESULT(CompiledKernelRow, kCompiledKernel, "compiled_kernel", SONDE_COLUMNS_COMPILED_KERNEL,
             "a call of a kernel in compiled code")

// The texts live as long as the data.
std::vector<CompiledKernelRow> CompiledKernels(const TraceData& data);

}  // namespace sonde::recipes
