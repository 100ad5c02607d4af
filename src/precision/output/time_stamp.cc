#include "precision/output/time_stamp.h"

#include <ctime>

namespace sonde::precision {

std::string TimeStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[16] = {};
  std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local);
  return text;
}

}  // namespace sonde::precision
