#include "store/schema_check.h"

#include <string>

#include "base/strings.h"
#include "store/schema_template.h"
#include "store/store.h"

namespace sonde::store {

Status CheckTables(const Store& store) {
  const auto found = store.Query(std::string(kSignatureQuery));
  if (found.ok() && found->rows() == 1 && !found->IsNull(0, 0) &&
      found->Text(0, 0) == SchemaSignature()) {
    return {};
  }
  return base::CorruptDataError(
      base::Concat("the tables of the trace store '", store.path(),
                   "' are not as this program makes them: the file is damaged or was changed; make "
                   "it again with sonde analyse"));
}

}  // namespace sonde::store
