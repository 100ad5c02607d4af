// From the capture of one rank to its deliverables: import, store, exporters.
//
// The store lies in the span folder; where that is not writable, or its disk is full, in the user's
// cache folder; where that is full, too, in the output folder.
// ASCEND_PROFILER_OUTPUT is made under another name and appears complete, with analyse.done in it,
// or not at all; one that was there is replaced.
// Threads: ranks may be analysed in parallel. Errors: Status, with the path in the message.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/registry.h"
#include "recipes/communication/arrivals.h"
#include "recipes/request_time/request_time.h"
#include "recipes/summary/summary.h"

namespace sonde::cli {

struct AnalyseOptions {
  std::vector<std::string> export_types;  // empty: from the capture's settings, else text
  std::string output_folder;              // "": next to the capture
  int threads = 1;                        // for one rank
  // Remove the raw records of the capture when all is there; none: from its settings. Never
  // with an output folder, for a recording that has not ended, or where records were bad.
  std::optional<bool> data_simplification = std::nullopt;
  // Existing deliverables next to the capture stay: only the summary is made.
  bool only_missing = false;
  recipes::Objectives objectives = {};  // of a server's requests
};

struct AnalysedRank {
  bool is_empty = false;  // whole, but without a record: nothing was written
  recipes::RankSummary summary;
  int32_t run = 0;  // as in job::Trace
  std::string span_name;
  std::vector<std::string> written;  // folders and files that hold the deliverables
  std::vector<std::string> notices;  // a line each, which the user should know
  // For the waits, which need all ranks (analyse_waits.h).
  recipes::RankArrivals arrivals;
  recipes::RankWaits waits;
  std::vector<std::string> types;  // forms that were written
  std::string folder;              // that holds SONDE and the deliverables
  std::string output_folder;       // ASCEND_PROFILER_OUTPUT; "" where files stay as they are
  std::string store_path;
};

// Whether the complete deliverables of a capture are next to it.
bool IsAnalysed(const std::string& span_folder);

Result<AnalysedRank> AnalyseRank(const importers::TraceSource& source,
                                 const AnalyseOptions& options);

}  // namespace sonde::cli
