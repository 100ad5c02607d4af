// Helpers of this folder's tests: where the shared data lies, csv as rows, dumps from text.
#pragma once

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/dump_file.h"

// Set by the build file; tests of other builds look next to the working folder.
#ifndef SONDE_DEFAULT_SHARED_DATA
#define SONDE_DEFAULT_SHARED_DATA "../shared/data"
#endif

namespace sonde::precision {

// A folder below the data shared by all projects; empty when this machine lacks it.
inline std::string SharedData(const std::string& below) {
  const char* root = std::getenv("SONDE_SHARED_DATA");
  const std::string path =
      base::JoinPath(root != nullptr ? root : SONDE_DEFAULT_SHARED_DATA, below);
  return base::PathExists(path) ? path : std::string();
}

// The one file in `folder` whose name begins and ends so.
inline std::string FindOne(const std::string& folder, std::string_view prefix,
                           std::string_view suffix) {
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return {};
  for (const base::DirectoryEntry& entry : *entries) {
    if (entry.name.starts_with(prefix) && entry.name.ends_with(suffix)) {
      return base::JoinPath(folder, entry.name);
    }
  }
  return {};
}

using CsvRow = std::vector<std::string>;

inline std::vector<CsvRow> ParseCsv(std::string_view text) {
  std::vector<CsvRow> rows;
  CsvRow row;
  std::string cell;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        cell.push_back('"');
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        cell.push_back(c);
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      row.push_back(std::move(cell));
      cell.clear();
      if (c == '\n') {
        rows.push_back(std::move(row));
        row.clear();
      }
    } else if (c != '\r') {
      cell.push_back(c);
    }
  }
  return rows;
}

inline std::vector<CsvRow> ReadCsv(const std::string& path) {
  const auto text = base::ReadFile(path);
  return text.ok() ? ParseCsv(*text) : std::vector<CsvRow>();
}

// A dump of the given entries ("data" object); the text lives as long as the program.
inline std::unique_ptr<DumpFile> DumpOf(const std::string& data,
                                        const std::string& task = "statistics",
                                        const std::string& framework = "pytorch",
                                        const std::string& level = "mix") {
  static std::vector<std::unique_ptr<std::string>> texts;
  texts.push_back(std::make_unique<std::string>(
      R"({"task": ")" + task + R"(", "level": ")" + level + R"(", "framework": ")" + framework +
      R"(", "dump_data_dir": null, "data": )" + data + "}"));
  auto file = DumpFile::Parse(*texts.back(), "test.json");
  return file.ok() ? std::move(*file) : nullptr;
}

}  // namespace sonde::precision
