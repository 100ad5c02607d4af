// `sonde compare`: two traces, side by side.
//
//   SONDE_ASSIGN_OR_RETURN(const Report report, Compare(request, notify));
//   SONDE_ASSIGN_OR_RETURN(const auto files, Write(report, Form::kExcel, folder));
//
// A side may have several runs: the judgement takes all of them, the sheets, which copy the
// reference, the first of each. One call at a time; all runs are read at once. Errors: a run that
// cannot be read; nothing that both sides hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare/frame/options.h"
#include "compare/frame/side.h"
#include "compare/output/report.h"
#include "job/open.h"
#include "store/made_tables.h"

namespace sonde::compare {

struct Request {
  std::vector<std::string> base_paths;  // one at least, as of the comparison
  std::vector<std::string> comparison_paths;
  int64_t base_step = kNone;  // kNone: all
  int64_t comparison_step = kNone;
  int threads = 1;
  Options options;
};

Result<Report> Compare(const Request& request, const job::NoticeSink& notify);

// The results (difference/tables.h) as tables that statements name, made when the first one is
// asked for. Threads: any.
std::shared_ptr<const store::MadeTables> MakeTables(Request request, job::NoticeSink notify);

}  // namespace sonde::compare
