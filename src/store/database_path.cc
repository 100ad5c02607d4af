#include "store/database_path.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace sonde::store::internal {

Result<DatabasePath> DatabasePath::For(std::string file) {
  DatabasePath path;
  path.name_ = path.file_ = std::move(file);
  if (path.file_.find('?') == std::string::npos) return path;
  SONDE_ASSIGN_OR_RETURN(path.folder_, base::PrivateFolder::Make("store"));
  path.name_ = base::JoinPath(path.folder_->path(), "store.duckdb");
  if (path.name_.find('?') == std::string::npos) return path;
  return base::InvalidArgumentError(
      "TMPDIR names a folder with a '?', in which the database cannot work");
}

Status DatabasePath::BringToPlace() {
  if (folder_ == nullptr) return {};
  std::error_code error;
  std::filesystem::copy_file(name_, file_, std::filesystem::copy_options::overwrite_existing,
                             error);
  folder_.reset();
  if (error) return base::ErrnoStatus(error.value(), "write", file_);
  return {};
}

}  // namespace sonde::store::internal
