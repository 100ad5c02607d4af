// Small files that are kept whole in the store (table source_text), for exact export.
#pragma once

#include <vector>

#include "base/status.h"
#include "importers/ascend/span.h"
#include "store/import_issues.h"
#include "store/store.h"

namespace sonde::importers {

// Files that cannot be read, are larger than 64 MB or no valid UTF-8 are counted and left out.
Status KeepTexts(const std::vector<SpanFile>& files, store::ImportIssues& issues,
                 store::Transaction& transaction);

}  // namespace sonde::importers
