#include "serve/preview.h"

#include "base/files.h"
#include "importers/import_trace.h"

namespace sonde::serve {

Result<std::unique_ptr<store::Store>> MakePreview(const importers::TraceSource& source,
                                                  const base::PrivateFolder& folder) {
  if (source.importer->preview == nullptr) return base::NotFoundError("no samples are made of it");
  SONDE_ASSIGN_OR_RETURN(const std::string sample,
                         source.importer->preview(source.path, folder.path()));
  SONDE_ASSIGN_OR_RETURN(const auto found, importers::FindTraces(sample));
  if (found.empty()) return base::NotFoundError("the sample is no trace");
  SONDE_ASSIGN_OR_RETURN(
      auto imported,
      importers::ImportTrace(found.front(), base::JoinPath(folder.path(), "trace.duckdb"), {}));
  return std::move(imported.store);
}

}  // namespace sonde::serve
