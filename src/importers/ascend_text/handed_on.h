// Tables of the device tool as the analysis of the framework's layer hands them on: those of caches
// as they are, those of modules' memory in MB, both kept under the names that they have in its
// deliverables; those of the process's memory as a part of the memory record. One thread.
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
Status KeepHandedOn(const std::vector<SpanFile>& tables, store::ImportIssues& issues,
                    store::Transaction& transaction);

// Of npu_mem: what the process had reserved at each moment; nothing for other tables.
void ReadProcessMemory(const SpanFile& file, std::string_view content, TextTrace& trace);

}  // namespace sonde::importers::text_import
