// A CSV file into the store, cell by cell, for exact export (store/source_tables.h).
#pragma once

#include <string_view>

#include "base/status.h"
#include "importers/ascend/span.h"
#include "store/import_issues.h"
#include "store/source_tables.h"
#include "store/store.h"

namespace sonde::importers {

// Counts irregularities in the form of a file that is not copied.
void CheckCsv(const SpanFile& file, std::string_view text, store::ImportIssues& issues);

// `text`: the content of the file. Irregularities in its form are counted.
Status CopyCsv(const SpanFile& file, std::string_view text, store::SourceNames& names,
               store::ImportIssues& issues, store::Transaction& transaction);

}  // namespace sonde::importers
