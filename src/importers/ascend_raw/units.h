// Factors between the units of records and those of the store.
#pragma once

namespace sonde::importers::raw {

inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kKilo = 1024;  // bytes
inline constexpr double kPercent = 100;

}  // namespace sonde::importers::raw
