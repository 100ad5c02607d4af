// Tables of the device tool that the analysis of the framework's layer forwards. Those of caches
// are kept unchanged, those of modules' memory in MB, both under their names in its deliverables.
// Those of the process's memory become a part of the memory record. One thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/ascend/span.h"
#include "importers/ascend_text/text_trace.h"
#include "store/import_issues.h"
#include "store/store.h"

namespace sonde::importers::text_import {

// Those among `tables`; several files of one table are one.
Status KeepForwardedTables(const std::vector<SpanFile>& tables, store::ImportIssues& issues,
                           store::Transaction& transaction);

// Of npu_mem: memory that the process had reserved at each moment; nothing for other tables.
void ReadProcessMemory(const SpanFile& file, std::string_view content, TextTrace& trace);

}  // namespace sonde::importers::text_import
