// A table as an Excel workbook, cell by cell in the order of reading, a sheet for each million
// rows.
//
// Rows leave memory as they come. One thread. Errors: Close returns them; the caller removes
// the partial file under `path`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::report {

class XlsxTable {
 public:
  // `path` lies in a folder that can be written; temporary files lie there too.
  XlsxTable(const std::string& path, std::vector<std::string> columns);
  XlsxTable(const XlsxTable&) = delete;
  XlsxTable& operator=(const XlsxTable&) = delete;
  ~XlsxTable();

  void Text(std::string_view text);
  void Number(double value);
  void Empty();
  void EndRow();
  Status Close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::report
