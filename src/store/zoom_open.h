// The zoom index of an open store.
#pragma once

#include "base/status.h"
#include "store/store.h"
#include "store/zoom_index.h"

namespace sonde::store {

// The file next to the store. Where it cannot be opened it is built; in the folder of temporary
// files where the store's folder cannot be written.
Result<ZoomIndex> OpenZoomIndex(const Store& store);

}  // namespace sonde::store
