#include "importers/capture/device_words.h"

#include "importers/common/kernel_name.h"

namespace sonde::importers::capture_import {
namespace {

using capture::DeviceRecordKind;
using capture::DeviceVendor;

// "KERNEL_AIVEC", the runtime's name of a kind of kernels, to the name of the cores in
// deliverables.
std::string_view AscendCore(std::string_view type) {
  if (type == "KERNEL_AICORE") return "AI_CORE";
  if (type == "KERNEL_AIVEC") return "AI_VECTOR_CORE";
  if (type == "KERNEL_AICPU") return "AI_CPU";
  constexpr std::string_view kPrefix = "KERNEL_";
  return type.starts_with(kPrefix) ? type.substr(kPrefix.size()) : "N/A";
}

// Kernels of aclnn operators are named "aclnnAdd_AddAiCore_Add": the last part is the type.
std::string_view AscendType(std::string_view name) {
  const size_t line = name.rfind('_');
  return name.starts_with("aclnn") && line != std::string_view::npos ? name.substr(line + 1) : name;
}

// "aten::add" -> "add".
std::string_view WithoutLibrary(std::string_view op) {
  const size_t colon = op.rfind("::");
  return colon == std::string_view::npos ? op : op.substr(colon + 2);
}

TaskWords NvidiaWords(DeviceRecordKind kind, std::string_view name, std::string_view op) {
  const std::string_view first_word = name.substr(0, name.find_first_of(" (<"));
  TaskWords words;
  if (kind != DeviceRecordKind::kKernel) {
    words.task_type = kind == DeviceRecordKind::kMemcpy ? "MEMCPY" : "MEMSET";
    words.op_type = op.empty() ? first_word : WithoutLibrary(op);
    return words;
  }
  words.task_type = "KERNEL";
  words.core = common::KernelCollective(name).empty() ? "GPU" : "COMMUNICATION";
  words.op_type = op.empty() ? common::KernelFunction(name) : std::string(WithoutLibrary(op));
  return words;
}

}  // namespace

TaskWords WordsOf(DeviceVendor vendor, DeviceRecordKind kind, std::string_view name,
                  std::string_view type, std::string_view op) {
  if (vendor == DeviceVendor::kNvidia) return NvidiaWords(kind, name, op);
  if (kind != DeviceRecordKind::kKernel) return {"", std::string(name), ""};
  return {std::string(AscendType(name)), std::string(type), std::string(AscendCore(type))};
}

std::string_view CallLevel(DeviceVendor vendor, std::string_view name) {
  if (vendor == DeviceVendor::kNvidia) return "runtime";
  if (name.starts_with("aclrt") || name.starts_with("rt")) return "runtime";
  if (name.starts_with("Hccl") || name.starts_with("hcom")) return "communication";
  return name.starts_with("acl") ? "acl" : "node";
}

std::string_view CallCategory(DeviceVendor vendor, std::string_view name) {
  if (vendor != DeviceVendor::kNvidia) return "api";
  return name.starts_with("cuda") ? "cuda_runtime" : "cuda_driver";
}

std::string_view InterfaceOf(DeviceVendor vendor) {
  return vendor == DeviceVendor::kNvidia ? "CUDA" : "CANN";
}

std::string CollectiveOf(DeviceVendor vendor, DeviceRecordKind kind, std::string_view name) {
  if (vendor != DeviceVendor::kNvidia || kind != DeviceRecordKind::kKernel) return {};
  return common::KernelCollective(name);
}

}  // namespace sonde::importers::capture_import
