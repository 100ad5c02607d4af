// The files in a folder of one rank that Ascend's profilers wrote, found by names.
//
// A path may be the span folder (*_ascend_pt, *_ascend_ms or any that holds its parts), its
// ASCEND_PROFILER_OUTPUT, a PROF_* folder, or one file. Several PROF_* side by side are a trace
// each, unless the framework's layer assigns them to one span. Pure; opens directories, and of
// databases the first bytes, and where there are texts, too, their list of tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/import_issues.h"

namespace sonde::importers {

struct SpanFile {
  std::string path;
  std::string relative;  // below the span folder, with '/'
};

struct DamagedFile {
  SpanFile file;
  Status why;
};

struct AscendSpan {
  std::string folder;               // the span folder; of a single file its folder
  std::vector<SpanFile> databases;  // the framework's first, then the newest of the device tool
  std::vector<SpanFile> analysis;   // analysis.db, communication_analyzer.db
  std::vector<SpanFile> tables;     // CSV
  std::vector<SpanFile> timelines;  // trace_view.json, msprof_*.json
  std::vector<SpanFile> texts;      // other JSON of the deliverables
  std::vector<SpanFile> metadata;   // profiler_info*.json, profiler_metadata.json
  std::vector<SpanFile> memory;     // cpu_ms_memory_record_*.txt of MindSpore on a CPU
  // Invalid databases, and cut off or damaged ones in a folder with others or with texts: they are
  // left out.
  std::vector<DamagedFile> damaged;
  std::vector<std::string> unread;       // other files and folders ("logs/"), relative
  std::vector<std::string> all() const;  // paths
  bool has_texts() const;                // a timeline, or tables that only these profilers write
};

AscendSpan FindSpan(const std::string& path);

// Names the files there that are not read, or cannot be.
void CountUnread(const AscendSpan& span, store::ImportIssues& issues);

// Changes when the content of a file does.
Result<int64_t> SpanStamp(const AscendSpan& span);

// From profiler_info_<rank>.json, the name of the database or those of FRAMEWORK/cpu_*, or -1.
int32_t SpanRank(const AscendSpan& span);

bool IsKnownCsv(std::string_view name);    // other CSV files may be in any folder
bool IsProfilerDb(std::string_view name);  // ascend_pytorch_profiler_0.db, msprof_2025....db

}  // namespace sonde::importers
