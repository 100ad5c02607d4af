// From a session of a server to the store of all its processes and the summary of its serving.
//
// The store and serving_summary.{txt,csv,xlsx} lie in the folder of the session, or below an output
// folder. Threads: sessions may be analysed in parallel. Errors: Status, with the path in it.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/analyse_rank.h"
#include "importers/registry.h"

namespace sonde::cli {

bool IsServer(const importers::TraceSource& source);

// Whether a folder of a session has all files of its summary.
bool IsServed(const std::string& session);

// The short form of the summary, for the terminal.
Result<std::string> AnalyseServer(const importers::TraceSource& source,
                                  const AnalyseOptions& options);

}  // namespace sonde::cli
