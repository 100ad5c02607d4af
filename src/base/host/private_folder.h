// A folder of temporary files that no other user may enter, below TMPDIR: mode 0700, a random name.
// Removed with the object; the next program that makes such a folder removes those of killed ones.
// Errors: Status. Threads: one at a time.
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
