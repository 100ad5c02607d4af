// `sonde advisor`: what to do about one run, each advice with its evidence.
//
//   SONDE_ASSIGN_OR_RETURN(const auto report, Advise(request, notify));
//   SONDE_ASSIGN_OR_RETURN(const auto files, Write(*report, folder));
//
// Threads: any, each call for itself. Errors: a path in which nothing is found or of which nothing
// can be read, a rule that is none. A rule that fails is a Silence, and the others are asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "advisor/output/report.h"
#include "base/status.h"
#include "job/open.h"

namespace sonde::advisor {

enum class Dimension : uint8_t { kAll, kSchedule, kComputation };

struct Request {
  std::string path;
  std::string benchmark_path;  // "": none
  Dimension dimension = Dimension::kAll;
  std::string cann_version = "8.0.0";
  std::string torch_version = "2.1.0";
  Language language = Language::kChinese;
  std::vector<std::string> rule_folders;
  int threads = 1;
};

Result<std::unique_ptr<Report>> Advise(const Request& request, const job::NoticeSink& notify);
// The same of traces that were found already, whatever the path of the request.
Result<std::unique_ptr<Report>> Advise(const Request& request, const job::Job& job,
                                       const job::NoticeSink& notify);

}  // namespace sonde::advisor
