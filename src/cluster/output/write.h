// Writes what a mode has found: tables of cluster_analysis.db, csv files, a workbook or a report.
//
// Every file appears complete or not at all. Tables and files that the mode may write and that are
// left of an earlier run go, so that what lies there is of one run; those of other modes stay.
// Files keep the names, columns and units of the reference tool. One thread. Errors: Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

enum class Form : uint8_t { kDb, kText, kExcel, kNotebook };

// Of --export_type; "" is the mode's own.
Form FormOf(std::string_view name, const Outcome& outcome);

struct Written {
  std::string db;                   // "" but for kDb
  std::vector<std::string> tables;  // in it
  std::vector<std::string> files;   // of the other forms
};

// `folder`: cluster_analysis_output, made where it is not there.
Result<Written> Write(const Mode& mode, const Outcome& outcome, Form form,
                      const std::string& folder);

}  // namespace sonde::cluster
