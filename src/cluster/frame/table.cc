#include "cluster/frame/table.h"

#include "base/strings.h"

namespace sonde::cluster {

TextColumn TextHeading(const ColumnNames& names) {
  constexpr double kNsPerUs = 1e3;
  constexpr double kNsPerMs = 1e6;
  const bool in_ms = names.db.ends_with("Ns") && names.text.ends_with("(Ms)");
  if (!names.text.empty()) return {std::string(names.text), in_ms ? kNsPerMs : 1};
  if (!names.db.ends_with("Ns")) return {std::string(names.db)};
  return {base::ReplaceAll(names.db, "Ns", "(Us)"), kNsPerUs};
}

}  // namespace sonde::cluster
