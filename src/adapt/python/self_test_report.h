// Result of a self-test at attach: each part by itself, and for a failed part the data that is not
// recorded. Plain data that goes to Python unchanged. Threads: with the GIL held.
#ifndef SONDE_ADAPT_PYTHON_SELF_TEST_REPORT_H_
#define SONDE_ADAPT_PYTHON_SELF_TEST_REPORT_H_

#include <string>

namespace sonde::adapt {

struct Check {
  const char* name;  // "operator names"
  bool passed;
  char detail[160];  // result, or the data that is not recorded because of the failure
};

struct SelfTestReport {
  static constexpr int kMaxChecks = 32;
  char torch_version[32] = "";
  int check_count = 0;
  Check checks[kMaxChecks];

  void Add(const char* name, bool passed, const char* detail);
  bool AllPassed() const;
};

// The text that an adapter's self-test gives to Python, a JSON object: versions of the framework
// and of Python, whether the adapter is attached, the checks, and the recorded parts (SetRecorded).
class ReportText {
 public:
  // `python_version` may go on after a space; the rest is left out.
  ReportText(const char* framework, const char* framework_version,
             const std::string& python_version, bool attached, const SelfTestReport& report);
  void SetRecorded(const char* what, bool is_recorded);
  // The whole text. Nothing may be added afterwards.
  std::string Take();

 private:
  std::string json_;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_SELF_TEST_REPORT_H_
