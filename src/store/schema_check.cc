#include "store/schema_check.h"

#include <string>

#include "base/strings.h"
#include "store/schema_template.h"
#include "store/store.h"

namespace sonde::store {

Status NotOurTables(const std::string& path) {
  return base::CorruptDataError(
      base::Concat("the tables of the trace store '", path,
                   "' are not as this program makes them: the file is damaged or was changed; make "
                   "it again with sonde analyse"));
}

Status CheckTables(const Store& store) {
  const auto found = store.Query(std::string(kSignatureQuery));
  const bool is_same = found.ok() && found->rows() == 1 && !found->IsNull(0, 0) &&
                       found->Text(0, 0) == SchemaSignature();
  return is_same ? Status() : NotOurTables(store.path());
}

}  // namespace sonde::store
