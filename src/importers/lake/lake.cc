#include "importers/lake/lake.h"

#include <string>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "store/lake.h"

namespace sonde::importers {
namespace {

bool IsLakeFile(const std::string& path) {
  return path.ends_with(".parquet") && path.find("/run=") != std::string::npos;
}

Result<int32_t> LakeRank(const std::string& path) {
  constexpr std::string_view kRank = "/rank=";
  const size_t at = path.rfind(kRank);
  if (at == std::string::npos) return -1;
  const size_t begin = at + kRank.size();
  const auto rank = base::ParseInt64(path.substr(begin, path.find('/', begin) - begin));
  return static_cast<int32_t>(rank.value_or(-1));
}

// The name of the file is the key of its content.
Result<int64_t> LakeStamp(const std::string& path) {
  return static_cast<int64_t>(base::HashString(base::BaseName(path)));
}

Result<ImportSummary> ImportFromLake(const std::string& path, store::Store& store,
                                     const ImportOptions& /*options*/) {
  ImportSummary summary;
  SONDE_ASSIGN_OR_RETURN(summary.rank, LakeRank(path));
  // The statements need more memory than rows that are written.
  SONDE_RETURN_IF_ERROR(store.EndFilling());
  SONDE_RETURN_IF_ERROR(store::FillFromLake(path, store));
  return summary;
}

}  // namespace

const Importer kLakeTrace = {.name = "lake",
                             .one = "trace in a lake",
                             .what = "traces in a lake",
                             .version = 1,
                             .recognises = IsLakeFile,
                             .rank = LakeRank,
                             .stamp = LakeStamp,
                             .import = ImportFromLake};

}  // namespace sonde::importers
