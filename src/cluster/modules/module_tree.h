// Which module of the model an operator and its kernels belong to, by time.
//
//   module     ranges (start_end) of the mstx domain "Module", whose text is the class; of a trace
//              without them the module slices, by their class
//   operator   what launched kernels or communication; kernels need not lie inside it
//   tree       in the order of begin, longer ones first, each lies in the last open module that
//              holds it whole; threads do not matter, since dispatch and backward have their own
//   backward   operators whose forward lies in a module: neighbours of one instance, in the order
//              of time, are a range of that module, inside one named like the whole path of its
//              parents, 1 ns longer on both sides
// The reference's rules (module statistic and operator MFU). Texts refer to the trace but for those
// of modules. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::cluster {

struct ModuleRange {
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
  bool is_backward = false;
};

struct LaunchedKernel {
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
  int32_t kind = store::kNone;  // of data.kinds; kNone: communication
};

struct LaunchingOp {
  std::string_view name;
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<LaunchedKernel> kernels;  // in the order of time, communication last
};

// An operator in its module; operators outside of any are left out.
struct PlacedOp {
  std::string parent;  // names of the modules around, '/' between
  std::string module;  // "[Backward]..." of backward ones
  int64_t module_begin = 0;
  int64_t module_end = 0;
  size_t op = 0;  // of the list
};

constexpr recipes::Needs ModuleNeeds() {
  return recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::SliceRow,
                        store::FrameworkOpRow, store::MarkRow, store::ArgsTextRow, store::FlowRow>()
      .WithBounds();
}

std::vector<ModuleRange> ModulesOf(const recipes::TraceData& data);
// In the order of begin.
std::vector<LaunchingOp> LaunchingOpsOf(const recipes::DeviceView& view);
std::vector<ModuleRange> BackwardModules(const recipes::TraceData& data,
                                         const std::vector<ModuleRange>& forward);
// In the order of (begin of the module, begin of the operator).
std::vector<PlacedOp> PlaceOps(const std::vector<ModuleRange>& modules,
                               const std::vector<LaunchingOp>& ops);

}  // namespace sonde::cluster
