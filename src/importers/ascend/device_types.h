// The numbers by which torch calls kinds of devices (c10/core/DeviceType.h): an NPU is its
// "PrivateUse1".
#pragma once

#include <cstdint>

namespace sonde::importers {

inline constexpr int16_t kCpuType = 0;
inline constexpr int16_t kNpuType = 20;

}  // namespace sonde::importers
