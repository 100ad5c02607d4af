// A store that is nothing but its rows in memory: for who hands them on, or has a recipe read them.
//
// It is written by transactions as others are, and read by rows(). There is no file, and nothing to
// query or publish; statements of an importer fail with kFailedPrecondition.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "store/store.h"

namespace sonde::store {

// `folder`: where importers may put what leaves memory meanwhile; that of Store::path().
Result<std::unique_ptr<Store>> CreateForRows(const std::string& folder);

}  // namespace sonde::store
