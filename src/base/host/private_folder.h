// A folder of temporary files that nobody else may enter, below TMPDIR: mode 0700, a name that
// nobody can have taken before. Removed with the object; what a killed program left is removed by
// the next one that makes such a folder. Errors: Status. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace sonde::base {

class PrivateFolder {
 public:
  // `purpose`: a word for the name.
  static Result<std::unique_ptr<PrivateFolder>> Make(std::string_view purpose);
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sonde::base
