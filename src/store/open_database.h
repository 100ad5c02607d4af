// Opens databases with the settings that Sonde wants. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "store/duckdb_handles.h"
#include "store/store.h"

namespace sonde::store::internal {

// Purpose of an open database.
enum class Use : uint8_t {
  kReading,
  kAny,
  // As kAny; the caller changes further settings and locks them.
  kUnlocked,
  // By appenders, on threads of ours; EndFilling() follows. A thread of the database's own would
  // take over the flush of an appender, whose thread spins until it is done. With two of them an
  // import costs up to 50 % more processor time and is slower.
  kFilling,
};

// For queries and checkpoints.
int QueryThreads(const StoreOptions& options);

Status OpenInto(const std::string& file, Use use, const StoreOptions& options, Database& database);
Result<std::unique_ptr<Database>> OpenDatabase(const std::string& file, Use use,
                                               const StoreOptions& options);

}  // namespace sonde::store::internal
