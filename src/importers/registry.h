// All importers, and the traces in a user's path that they read. importers/import_trace.h makes
// their stores.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/importer.h"

namespace sonde::importers {

std::span<const Importer> Importers();

// The importer that reads `path`, null where none does.
const Importer* FindImporter(const std::string& path);

// One trace that was found: a file or folder of one rank.
struct TraceSource {
  std::string path;
  const Importer* importer = nullptr;
};

// `path` itself where an importer reads it, else the traces in it, down to `max_depth` folders, in
// order of names. Empty where nothing is found; an error where the path cannot be read. `unread`,
// where not null, gets the files that no importer reads and the folders that are too deep.
Result<std::vector<TraceSource>> FindTraces(const std::string& path, int max_depth = 3,
                                            std::vector<std::string>* unread = nullptr);

// The same without captures that are part of a found session, whose rows include theirs.
Result<std::vector<TraceSource>> WithoutParts(std::vector<TraceSource> sources);

// The error for a path in which FindTraces found none: its kind, and the readable kinds.
Status NothingToRead(const std::string& path);

// A sentence for the user where a folder that no importer reads has records that their tool has to
// process first; else "".
std::string SayUnfinished(const std::string& path);

}  // namespace sonde::importers
