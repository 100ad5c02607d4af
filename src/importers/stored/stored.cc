#include "importers/stored/stored.h"

#include <memory>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"
#include "importers/capture/import.h"
#include "store/own_tables.h"
#include "store/store.h"

namespace sonde::importers {
namespace {

// "" where `path` is no folder SONDE and holds none.
std::string StoreFile(const std::string& path) {
  const std::string inside = base::JoinPath(path, "SONDE");
  if (base::IsDirectory(inside)) return base::JoinPath(inside, "trace.duckdb");
  const bool is_inside = base::BaseName(base::AbsolutePath(path)) == "SONDE";
  return is_inside ? base::JoinPath(path, "trace.duckdb") : std::string();
}

}  // namespace

bool IsStored(const std::string& path) {
  const std::string file = StoreFile(path);
  return !file.empty() && base::IsRegularFile(file) && !IsCapture(path);
}

Result<int32_t> StoredRank(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto store, store::Store::OpenReadOnly(StoreFile(path)));
  SONDE_ASSIGN_OR_RETURN(const store::ResultTable ranks,
                         store->Query("SELECT coalesce(max(rank), -1) FROM process_"));
  return static_cast<int32_t>(ranks.Int(0, 0));
}

bool IsComparison(const std::string& path) {
  const std::string_view name = base::BaseName(path);
  return name.starts_with("compare_result_") && name.ends_with(".duckdb") &&
         base::IsRegularFile(path);
}

bool HoldsComparison(const std::string& path) {
  // Others' files are not opened as databases.
  constexpr std::string_view kMark = "DUCK";
  constexpr size_t kPlaceOfMark = 8;
  {
    const auto file = base::MappedFile::Open(path);
    if (!file.ok() || file->text().size() < kPlaceOfMark) return false;
    if (!file->text().substr(kPlaceOfMark).starts_with(kMark)) return false;
  }
  const auto store = store::Store::OpenReadOnly(path);
  if (!store.ok()) return false;
  const auto tables = store::OwnTables(**store);
  return tables.ok() && !tables->empty();
}

Result<int32_t> ComparisonRank(const std::string&) { return -1; }

Result<int64_t> ComparisonStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto store, store::Store::OpenReadOnly(path));
  return store->source_stamp();
}

bool IsHelperStored(const std::string& path) {
  const auto store = store::Store::OpenReadOnly(StoreFile(path));
  if (!store.ok()) return false;
  const auto helpers = (*store)->Query(
      base::Concat("SELECT count(*) FROM metadata_ WHERE key = 'role' AND value = '", kHelperRole,
                   "' AND NOT EXISTS (FROM process_ WHERE rank >= 0)"));
  return helpers.ok() && helpers->Int(0, 0) > 0;
}

Result<int64_t> StoredStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto store, store::Store::OpenReadOnly(StoreFile(path)));
  return store->source_stamp();
}

}  // namespace sonde::importers
