#include "cli/compare_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/cluster_options.h"

namespace sonde::cli {
namespace {

using base::Concat;

// A step's number; kNone for "".
Result<int64_t> ParseStep(const std::string& text, std::string_view option) {
  if (text.empty()) return compare::kNone;
  const auto number = base::ParseInt64(text);
  if (number && *number >= 0) return *number;
  return base::InvalidArgumentError(
      Concat(option, " must be the number of a step, not '", text, "'"));
}

// The literals of a flat dictionary, one by one.
class NameMapReader {
 public:
  explicit NameMapReader(std::string_view text) : rest_(base::Trim(text)) {}

  Result<std::map<std::string, std::string>> Run() {
    std::map<std::string, std::string> map;
    if (!Take('{')) return Wrong();
    while (!Take('}')) {
      const auto key = Literal();
      if (!key || !Take(':')) return Wrong();
      const auto value = Literal();
      if (!value) return Wrong();
      constexpr size_t kLongest = 200;
      if (key->size() > kLongest || value->size() > kLongest) {
        return base::InvalidArgumentError("names in --op_name_map may have 200 characters at most");
      }
      map[*key] = *value;
      if (!Take(',') && !rest_.starts_with('}')) return Wrong();
    }
    return rest_.empty() ? Result<std::map<std::string, std::string>>(std::move(map)) : Wrong();
  }

 private:
  bool Take(char wanted) {
    rest_ = base::Trim(rest_);
    if (!rest_.starts_with(wanted)) return false;
    rest_ = base::Trim(rest_.substr(1));
    return true;
  }
  std::optional<std::string> Literal() {
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string literal(rest_.substr(1, end - 1));
    rest_ = base::Trim(rest_.substr(end + 1));
    return literal;
  }
  static Status Wrong() {
    return base::InvalidArgumentError(
        "--op_name_map must be a dictionary of names, like {'Optimizer.step#SGD.step':"
        "'Optimizer.step#NpuFusedSGD.step'}");
  }

  std::string_view rest_;
};

void AddSheetOptions(CLI::App& app, compare::Options& options) {
  app.add_flag("--enable_profiling_compare", options.profiling, "Where the time went");
  app.add_flag("--enable_operator_compare", options.operators, "Operators, or modules");
  app.add_flag("--enable_memory_compare", options.memory, "Memory of operators");
  app.add_flag("--enable_communication_compare", options.communication, "Communication operations");
  app.add_flag("--enable_api_compare", options.api, "Host calls");
  app.add_flag("--enable_kernel_compare", options.kernels, "Kernels. None of the six: all of them");
  app.add_flag("--disable_details", options.disable_details, "Sums only, no pairs of operators");
  app.add_flag("--disable_module", options.disable_module, "Operators, never modules");
  app.add_flag("--use_input_shape", options.use_input_shape,
               "Match operators only where their shapes are equal, too");
  app.add_flag("--use_kernel_type", options.use_kernel_type,
               "Match kernels by type and core, not by shapes");
  app.add_option("--max_kernel_num", options.max_kernel_num,
                 "Operators with more kernels are compared by the operators inside them (above 3)");
}

}  // namespace

void AddCompareOptions(CLI::App& app, CompareOptions& options) {
  app.add_option("-d,--profiling_path", options.paths,
                 "The trace to judge, or several, one a run of the program")
      ->required();
  app.add_option("--bp,--benchmark_profiling_path", options.base_paths,
                 "The trace to compare it with, or several runs")
      ->required();
  app.add_option("-o,--output_path", options.output, "Folder of the results")
      ->capture_default_str();
  app.add_option("--export_type", options.export_type, "Form of the results")
      ->check(CLI::IsMember({"excel", "csv", "db", "html"}))
      ->capture_default_str();
  app.add_option("--format", options.format,
                 "Printed output: a table for people, JSON for programs")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option(
      "--fail-if", options.fail_if,
      "Exit status 3 where this holds beyond noise, as 'step > 3%' or 'free > 1.5ms'; "
      "stages: step, computing, communication, free, outside (before the first and after the last "
      "work of the device), program (the step without waiting "
      "for a processor); what the machine adds counts as 'machine' only");
  AddSheetOptions(app, options.compare);
  app.add_option("--op_name_map", options.name_map, "Operators that were renamed, like {'a':'b'}");
  app.add_option("--base_step", options.base_step, "Step of -bp to compare (default: all)");
  app.add_option("--comparison_step", options.comparison_step,
                 "Step of -d to compare (default: all)");
  app.add_option("--gpu_flow_cat", options.flow_category,
                 "Accepted; flows to a GPU are found whatever their category");
  app.add_flag("--force", options.force, "Accepted; owners and sizes of files are not checked");
  app.add_flag("--debug", options.debug, "Accepted; every message is shown");
}

Result<std::map<std::string, std::string>> ParseNameMap(const std::string& text) {
  return NameMapReader(text).Run();
}

Result<compare::Request> RequestOf(const CompareOptions& options) {
  constexpr int64_t kFewestKernels = 3;
  compare::Request request;
  request.options = options.compare;
  if (options.compare.max_kernel_num != -1 && options.compare.max_kernel_num <= kFewestKernels) {
    return base::InvalidArgumentError("Invalid param, --max_kernel_num has to be greater than 3");
  }
  if (options.base_step.empty() != options.comparison_step.empty()) {
    return base::InvalidArgumentError("--base_step and --comparison_step go together");
  }
  SONDE_ASSIGN_OR_RETURN(request.base_step, ParseStep(options.base_step, "--base_step"));
  SONDE_ASSIGN_OR_RETURN(request.comparison_step,
                         ParseStep(options.comparison_step, "--comparison_step"));
  SONDE_ASSIGN_OR_RETURN(request.options.name_map, ParseNameMap(options.name_map));
  const bool has_several = options.base_paths.size() > 1 || options.paths.size() > 1;
  if (has_several && !options.base_step.empty()) {
    return base::InvalidArgumentError(
        "--base_step and --comparison_step need one run a side: name one trace with -d and -bp");
  }
  for (const std::string& path : options.base_paths) {
    request.base_paths.push_back(ClusterPath(path));
  }
  for (const std::string& path : options.paths) {
    request.comparison_paths.push_back(ClusterPath(path));
  }
  request.threads = base::AvailableThreads();
  return request;
}

}  // namespace sonde::cli
