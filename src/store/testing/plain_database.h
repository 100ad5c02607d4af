// For tests and fuzz targets: a plain database file, for statements that users of a store may not
// run.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace sonde::store {

class PlainDatabase {
 public:
  // A file that cannot be opened has no rows and takes no statement.
  explicit PlainDatabase(const std::string& path);
  ~PlainDatabase();
  PlainDatabase(const PlainDatabase&) = delete;
  PlainDatabase& operator=(const PlainDatabase&) = delete;

  // The cells of its rows as text, "" for NULL; none where it fails, or has none.
  std::vector<std::vector<std::string>> Run(const std::string& sql);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace sonde::store
