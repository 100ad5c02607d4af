// MindSpore's names of the modules, events and stages of its runtime, by the numbers that its
// libraries and its file mindspore.op_range use; the same in 2.7 to 2.10.
//
// Pure, any thread; the standard library alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::capture {

inline constexpr std::array<std::string_view, 8> kMindsporeModules = {
    "Default", "GraphExecutorPy", "RuntimeFramework", "PynativeFramework",
    "Kernel",  "Python",          "Capture",          "Other"};
inline constexpr std::array<std::string_view, 10> kMindsporeStages = {
    "Default", "Python",  "Capture",          "RunGraph",     "RunGrad",
    "RunOp",   "Asnumpy", "CompileGradGraph", "WaitPipeline", "SyncStream"};
inline constexpr std::array<std::string_view, 69> kMindsporeEvents = {
    "Default",
    "KernelInfer",
    "KernelResize",
    "KernelInferAndResize",
    "KernelLaunch",
    "KernelLaunckCallback",
    "KernelUpdate",
    "KernelPrepareData",
    "GraphLaunch",
    "InputProcess",
    "OutputProcess",
    "WaitTaskFinish",
    "PreLaunch",
    "PostLaunch",
    "SendOutput",
    "MemoryAlloc",
    "MemoryFree",
    "CopyData",
    "StreamSync",
    "ProcessMultiStream",
    "WaitKernelsInferFinish",
    "WaitKernelsResizeFinish",
    "WaitKernelsLaunchFinish",
    "KernelInferInner",
    "KernelInferDataSync",
    "KernelResizeInner",
    "KernelLaunchInner",
    "BackendGraphRunInner",
    "RunOp",
    "PyNativeFrontendTask",
    "PyNativeBackendTask",
    "PyNativeDeviceTask",
    "PyNativeLaunchTask",
    "PyNativeBpropTask",
    "Wait",
    "PyNativeGilAcquire",
    "PyNativeCast",
    "PyNativeInfer",
    "PyNativeOpCompile",
    "PyNativeGradExpander",
    "PyNativeGradUpdateSens",
    "PyNativeGradClearTopCell",
    "PyNativeGradClearAutoGradCell",
    "PyBoostInferOutput",
    "PyBoostInferByOpDef",
    "PyBoostCreateOutputTensor",
    "PyBoostDeviceTask",
    "PyBoostMallocInput",
    "PyBoostMallocOutput",
    "PyBoostLaunchAclnn",
    "PyBoostLaunchAtb",
    "PyNativeNewGraph",
    "PyNativeEndGraph",
    "PythonObserved",
    "CaptureRunGraph",
    "CaptureProcess",
    "CaptureCompile",
    "CaptureGuard",
    "AclnnHitCacheStage1",
    "AclnnHitCacheStage2",
    "AclnnMissCacheStage1",
    "AclnnMissCacheStage2",
    "AclnnUpdateAddress",
    "AclnnRunOp",
    "RunExpanderFunc",
    "EmitOp",
    "Execute",
    "ReleaseResource",
    "NativeFunc"};

// Events with a meaning of their own. Both launches run a kernel: of a graph, or of an operator
// that is called one by one.
inline constexpr uint32_t kMindsporeKernelLaunch = 4;
inline constexpr uint32_t kMindsporeRunOp = 28;
inline constexpr uint32_t kMindsporeLaunchTask = 32;
constexpr bool IsMindsporeLaunch(uint32_t event) {
  return event == kMindsporeKernelLaunch || event == kMindsporeLaunchTask;
}

// Name of the flows from the thread that queues a task to the thread that runs it.
inline constexpr std::string_view kHandOver = "hand-over";

// Name of a mark of the shapes and types of an operator's inputs, which is queued behind it: this
// and the operator's type. The argument set has them.
inline constexpr std::string_view kInputsOf = "inputs of ";

// "Default/layers-CellList/0-Block/qkv-Dense/MatMul-op0" -> "MatMul"; a name without a scope stays.
constexpr std::string_view MindsporeOperatorType(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  const size_t mark = name.rfind("-op");
  if (mark == std::string_view::npos || mark + 3 == name.size()) return name;
  const std::string_view digits = name.substr(mark + 3);
  const bool is_number = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? name.substr(0, mark) : name;
}

// Beyond the table of these releases: the number.
template <size_t kSize>
std::string MindsporeNameAt(const std::array<std::string_view, kSize>& names, uint32_t index) {
  return index < kSize ? std::string(names[index]) : std::to_string(index);
}

}  // namespace sonde::capture
