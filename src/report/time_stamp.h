// The time in names of result files: "20261121153000". Any thread.
#pragma once

#include <ctime>
#include <string>

namespace sonde::report {

enum class Zone { kLocal, kUtc };

inline std::string TimeStamp(Zone zone = Zone::kLocal, std::time_t at = std::time(nullptr)) {
  std::tm parts = {};
  zone == Zone::kUtc ? ::gmtime_r(&at, &parts) : ::localtime_r(&at, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y%m%d%H%M%S", &parts)};
}

}  // namespace sonde::report
