// The path at which a database writes a file. DuckDB takes a '?' in a path for the begin of
// parameters, and names its log after the part before it. Such a file is written in a temporary
// folder, and moved to its place when it is complete.
//
// Ownership: the temporary folder. Threads: one. Errors: no temporary folder, no room. Private to
// this folder.
#pragma once

#include <memory>
#include <string>

#include "base/host/private_folder.h"
#include "base/status.h"

namespace sonde::store::internal {

class DatabasePath {
 public:
  static Result<DatabasePath> For(std::string file);

  // For the database.
  const std::string& name() const { return name_; }
  // Of a file that the database has closed.
  Status BringToPlace();

 private:
  std::string file_;
  std::string name_;
  std::unique_ptr<base::PrivateFolder> folder_;  // null: the file is in its place
};

}  // namespace sonde::store::internal
