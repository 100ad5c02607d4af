#include "adapt/python/self_test_report.h"

#include <cstdio>

namespace sonde::adapt {

void SelfTestReport::Add(const char* name, bool passed, const char* detail) {
  if (check_count == kMaxChecks) return;
  Check& check = checks[check_count++];
  check.name = name;
  check.passed = passed;
  std::snprintf(check.detail, sizeof(check.detail), "%s", detail);
}

bool SelfTestReport::AllPassed() const {
  for (int i = 0; i < check_count; i++) {
    if (!checks[i].passed) return false;
  }
  return true;
}

}  // namespace sonde::adapt
