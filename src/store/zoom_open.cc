#include "store/zoom_open.h"

#include <string>

#include "base/files.h"
#include "base/strings.h"
#include "store/zoom_build.h"

namespace sonde::store {
namespace {

// Complete under its name, or not at all.
Status BuildFor(const Store& store, const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(ZoomWriter writer, BuildZoomIndex(store, store.store_id(), path));
  return writer.Commit();
}

}  // namespace

Result<ZoomIndex> OpenZoomIndex(const Store& store) {
  const std::string path = ZoomIndex::PathFor(store.path());
  Result<ZoomIndex> found = ZoomIndex::Open(path, store.store_id());
  if (found.ok()) return found;
  // One without lanes is made at once each time: no file stands beside what holds no trace.
  SONDE_ASSIGN_OR_RETURN(const auto any, store.Query("SELECT (EXISTS (FROM slice) OR EXISTS "
                                                     "(FROM device_task))::INTEGER"));
  const bool is_filled = any.Int(0, 0) > 0;
  if (is_filled && base::CheckWritableDirectory(std::string(base::DirName(path))).ok()) {
    SONDE_RETURN_IF_ERROR(BuildFor(store, path));
    return ZoomIndex::Open(path, store.store_id());
  }
  const std::string own = base::JoinPath(
      store.temporary_directory(),
      base::Concat("sonde-", std::to_string(static_cast<uint64_t>(store.store_id())), ".zoom"));
  SONDE_RETURN_IF_ERROR(BuildFor(store, own));
  found = ZoomIndex::Open(own, store.store_id());
  SONDE_RETURN_IF_ERROR(base::RemoveTree(own));  // the mapping stays
  return found;
}

}  // namespace sonde::store
