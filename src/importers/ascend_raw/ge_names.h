// Names of the numbers in raw records, as the vendor's tools print them. Unknown ones: the number.
// Pure.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::importers::raw {

std::string DataTypeName(uint32_t type);             // of tensors: "FLOAT16"
std::string FormatName(uint32_t format);             // "ND", with its sub-format "FRACTAL_Z:8"
std::string TaskTypeName(uint32_t type);             // of operators: "AI_CORE"
std::string SqeTypeName(uint32_t type, bool is_v6);  // of the device's queue
std::string HwtsTypeName(uint32_t type);             // of that of older chips
std::string SubTaskName(uint32_t type);              // of FFTS+
std::string HcclTypeName(uint32_t type);             // of communication: "FP32"
std::string LinkName(uint32_t link);                 // "HCCS"
std::string TransportName(uint32_t transport);
std::string CopyName(uint32_t direction);  // "host to device"
std::string ModuleName(uint32_t module);   // of the driver: "HCCL"

}  // namespace sonde::importers::raw
