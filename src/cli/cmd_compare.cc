// `sonde compare`: the performance of two traces, side by side.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/files.h"
#include "base/strings.h"
#include "cli/cluster_options.h"
#include "cli/command.h"
#include "cli/compare_options.h"
#include "compare/output/write.h"

namespace sonde::cli {
namespace {

compare::Form FormOf(const std::string& name) {
  if (name == "csv") return compare::Form::kCsv;
  return name == "db" ? compare::Form::kDb : compare::Form::kExcel;
}

Result<int> Compare(const CompareOptions& options, const compare::Request& request) {
  const std::string folder = ClusterPath(options.output);
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(folder).Annotate(
      "results cannot be written, name another folder with -o"));
  SONDE_ASSIGN_OR_RETURN(const compare::Report report, compare::Compare(request, PrintNotice));
  for (const std::string& notice : report.notices) PrintNotice(notice);
  SONDE_ASSIGN_OR_RETURN(const auto files,
                         compare::Write(report, FormOf(options.export_type), folder));
  std::string text = report.table;
  for (const std::string& file : files) text += file + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitOk;
}

CommandAction Declare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  AddCompareOptions(app, *options);
  return [options](const Context& context) -> Result<int> {
    const auto request = RequestOf(*options);
    if (!request.ok()) return WrongUsage(context, request.status().message());
    return Compare(*options, *request);
  };
}

}  // namespace

Command CompareCommand() {
  return {.name = "compare",
          .summary = "Compare the performance of two traces ('sonde probe compare': their numbers)",
          .example =
              "sonde compare -d ./new -bp ./old -o ./result\n"
              "sonde compare -d ./npu/rank0_ascend_pt -bp ./gpu/trace.json "
              "--enable_operator_compare",
          .declare = &Declare};
}

}  // namespace sonde::cli
