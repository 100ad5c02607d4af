// The catalogue of a lake: the tables of DuckLake 1.0 (ducklake.select/docs/stable/specification),
// written by plain SQL, since the library has no extensions, and two tables of ours that DuckLake
// leaves alone. Private to this folder.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/duckdb_handles.h"
#include "store/result_info.h"

namespace sonde::store::internal {

struct LakeTable {
  int64_t id = 0;
  std::string name;
  std::vector<std::string> columns;  // quoted; their field ids count from 1
  std::vector<std::string> types;    // of SQL
  bool has_rows = false;
};

// The catalogue is attached under this name; `lake_files_TABLE` is the variable with a table's
// files.
inline constexpr const char* kLakeAlias = "lake_";

std::string LakeCatalog(const std::string& folder);
// Refuses names that the database would not take as they are.
Status CheckLakeFolder(const std::string& folder);

// Attaches the catalogue for reading, and checks that it is one of this version.
Status AttachLake(Connection& connection, const std::string& folder);
// From an attached catalogue.
Result<std::vector<LakeTable>> ReadLakeTables(const Database& database);

// Changes a copy of the catalogue, attached under kLakeAlias, which then takes its place; where
// `edit` gives false there was nothing to change. An empty one is made where there is none, with
// tables of these results, too.
Status EditLake(const std::string& folder,
                const std::function<Result<bool>(Database&, Connection&)>& edit,
                std::span<const ResultInfo> results = {});

// Makes the tables of a lake as views, for statements. They need NameLakeFiles().
Status JoinLake(Database& database, Connection& connection, const std::string& folder);
// For each connection: the files of the tables that the statement names.
Status NameLakeFiles(Connection& connection, const Database& database, const std::string& sql);

// Columns of the table `trace`, with types (joint.cc).
std::string TraceColumnsSql();

}  // namespace sonde::store::internal
