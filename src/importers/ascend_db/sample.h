// A small sample of a large database: rows from the begin of its tables, from their end and from
// places in between. The shares are the same for each table, so that rows of one time are sampled
// together. All texts are copied.
//
// Threads: any, distinct samples. Reads without touching the database or other files. Errors:
// kNotFound where there is nothing to gain (a database smaller than `least_bytes`, or one with a
// log that is not empty), else SQLite's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace sonde::importers {

// Below it a database is imported about as fast as its sample.
inline constexpr size_t kSampledDbBytes = size_t{24} << 20U;
// Of all tables together.
inline constexpr int64_t kSampledDbRows = 150'000;

// Makes the file `sample`; it is valid where this returns no error.
Status WriteDbSample(const std::string& path, const std::string& sample,
                     size_t least_bytes = kSampledDbBytes, int64_t rows = kSampledDbRows);

// Of the first database of the folder, or of the file, `path`; see Importer::preview.
Result<std::string> WriteAscendDbPreview(const std::string& path, const std::string& folder);

}  // namespace sonde::importers
