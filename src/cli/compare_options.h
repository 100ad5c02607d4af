// Options of `sonde compare`, under the names of the tool that it stands in for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare/compare.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sonde::cli {

struct CompareOptions {
  compare::Options compare;
  std::vector<std::string> paths;  // runs of the side
  std::vector<std::string> base_paths;
  std::string output = ".";
  std::string export_type = "excel";
  std::string format = "table";
  std::vector<std::string> fail_if;
  std::string name_map = "{}";
  std::string base_step;
  std::string comparison_step;
  std::string flow_category;  // accepted: flows are distinguished by their ends
  bool force = false;         // accepted: owners and sizes of files are not looked at
  bool debug = false;         // accepted: every message is shown
};

void AddCompareOptions(CLI::App& app, CompareOptions& options);

// {'a':'b'} as Python writes it, or JSON.
Result<std::map<std::string, std::string>> ParseNameMap(const std::string& text);

// kInvalidArgument where options contradict each other.
Result<compare::Request> RequestOf(const CompareOptions& options);

}  // namespace sonde::cli
