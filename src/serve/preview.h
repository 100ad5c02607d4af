// A provisional look at a large trace while it is imported: a sample of it, read as a trace of its
// own.
//
// Threads: any. Errors: kNotFound where there is nothing to gain (a small trace, formats without
// samples), else those of the import; the session then goes on without.
#pragma once

#include <memory>
#include <string>

#include "base/host/private_folder.h"
#include "base/status.h"
#include "importers/registry.h"
#include "store/store.h"

namespace sonde::serve {

// The store of a sample that its importer writes into `folder` (Importer::preview).
Result<std::unique_ptr<store::Store>> MakePreview(const importers::TraceSource& source,
                                                  const base::PrivateFolder& folder);

}  // namespace sonde::serve
