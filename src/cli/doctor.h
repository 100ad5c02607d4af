// Findings of `sonde doctor`: one for each subject, and the screen made of them.
//
// Checks look and report; none changes anything. Those that depend on the machine take what they
// look at as parameters where a test needs to set it.
#pragma once

#include <string>
#include <vector>

#include "base/host/json.h"
#include "base/status.h"
#include "cli/environment.h"
#include "cli/layout.h"

namespace sonde::cli {

enum class Grade {
  kOk,
  kNote,     // worth knowing, nothing is lost
  kGap,      // something will not be recorded
  kFailure,  // nothing can be recorded
};

struct Finding {
  Grade grade = Grade::kOk;
  std::string subject = {};  // "PyTorch"
  std::string text = {};
  std::string remedy = {};  // for gaps and failures
  std::string loses = {};   // what is not recorded, for gaps
};

// --- The Python side (docs/reference/doctor.md) ------------------------------------------------

// Runs the module sonde.doctor in `python` and returns what it printed.
Result<base::JsonDocument> AskPython(const Layout& layout, const std::string& python);

// `report`: the object that the module printed.
std::vector<Finding> ExplainPython(const base::JsonValue& report);

// --- The machine -------------------------------------------------------------------------------

Finding CheckClock();
Finding CheckSavePath(const std::string& path);

std::vector<Finding> CheckOtherProfilers(const VariableGetter& get_variable);

// Device files below `root` ("/dev") and the tools of their vendors on PATH.
std::vector<Finding> CheckDevices(const std::string& root);

// Where there is an NPU below `root`: whether its tasks are recorded, and what is missing for that.
std::vector<Finding> CheckDeviceTasks(const std::string& root, const VariableGetter& get_variable);

// --- The screen --------------------------------------------------------------------------------

// "host, Debian GNU/Linux 12 (bookworm), x86_64, 2 cores".
std::string DescribeMachine();

// All findings, then what will and will not be recorded; at most 100 columns.
std::string RenderDoctor(const std::string& title, const std::vector<Finding>& findings);

}  // namespace sonde::cli
