#include "exporters/parquet/parquet.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "store/schema.h"

namespace sonde::exporters {

Status ExportParquet(const ExportContext& context) {
  if (context.store == nullptr) {
    return base::FailedPreconditionError("Parquet needs the store of the trace");
  }
  SONDE_ASSIGN_OR_RETURN(base::AtomicDirectory folder, base::AtomicDirectory::Create(base::JoinPath(
                                                           context.span_folder, "PARQUET")));
  std::vector<std::string_view> tables = {"args"};
  for (const store::TableInfo& table : store::Tables()) {
    if (table.name != "args_shared") tables.push_back(table.name);  // the others have its rows
  }
  for (const std::string_view table : tables) {
    const std::string path =
        base::JoinPath(folder.temporary_path(), base::Concat(table, ".parquet"));
    SONDE_RETURN_IF_ERROR(
        context.store->WriteParquet(base::Concat("SELECT * FROM \"", table, "\""), path));
  }
  return folder.Commit();
}

}  // namespace sonde::exporters
