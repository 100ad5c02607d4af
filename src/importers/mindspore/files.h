// The files of MindSpore's recorders in a folder, by their names. Pure; opens folders only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "importers/ascend/span.h"

namespace sonde::importers::mindspore {

struct Files {
  std::vector<SpanFile> operators;     // cpu_op_execute_timestamp_<rank>.txt
  std::vector<SpanFile> launches;      // cpu_framework_<rank>.txt: types and shapes
  std::vector<SpanFile> memory;        // cpu_ms_memory_record_<rank>.txt
  std::vector<SpanFile> tables;        // cpu_op_detail_info_*.csv, cpu_op_type_info_*.csv
  std::vector<SpanFile> runtime;       // RuntimeProfilerDetail<ns>.csv
  std::vector<SpanFile> runtime_json;  // RuntimeProfilerJson<ns>.json: only its flow numbers
  std::vector<SpanFile> op_ranges;     // mindspore.op_range
  std::vector<SpanFile> clocks;        // PROF_*/host/{host_start.log,start_info,info.json}
  std::vector<std::string> unread;     // relative
  std::string folder;                  // that holds them, or FRAMEWORK

  bool HasTrace() const {
    return !operators.empty() || !memory.empty() || !runtime.empty() || !op_ranges.empty();
  }
  std::vector<std::string> all() const;  // paths
};

Files FindFiles(const std::string& path);

// From the names of files and folders, -1 unknown.
int32_t RankOf(const Files& files);
// The process that wrote them, 0 unknown.
int64_t PidOf(const Files& files);

}  // namespace sonde::importers::mindspore
