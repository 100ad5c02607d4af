// A session of a server of language models: the captures of all its processes in one store.
//
// The folder holds the captures of the front-end and the engines, and a file NAME.capture for each
// rank with the path of its capture from there (python/sonde/vllm/_session.py). Requests, engine
// steps and the flows between processes are made of all together. See importers/importer.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/importer.h"
#include "store/store.h"

namespace sonde::importers {

bool IsServerSession(const std::string& path);
Result<int32_t> ServerSessionRank(const std::string& path);  // -1: it has many
Result<int64_t> ServerSessionStamp(const std::string& path);
Result<ImportSummary> ImportServerSession(const std::string& path, store::Store& store,
                                          const ImportOptions& options);

// The existing captures of a session, in order of names; `missing`, where not null, gets
// the paths of others.
Result<std::vector<std::string>> ServerSessionCaptures(const std::string& path,
                                                       std::vector<std::string>* missing);

Result<std::vector<std::string>> ServerSessionParts(const std::string& path);

}  // namespace sonde::importers
