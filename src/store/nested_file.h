// Values of nested types (structs, lists) in one Parquet file, column by column, for callers whose
// tables are not those of the store.
//
// The types of the columns are in the file, so that any reader of Parquet shows them, and two
// programs never misread each other. A text that is not valid UTF-8 makes its column one of bytes.
// Files appear complete or not at all, and survive a power cut. One thread at a time. Errors:
// Status with the path; of a file that is none, or has types that are not ours: kCorruptData.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::store {

// A column of values.
struct NestedColumn {
  enum class Kind : uint8_t { kInt, kUint, kDouble, kText, kList, kStruct };
  std::string name = {};
  Kind kind = Kind::kInt;
  size_t size = 0;                          // how many values
  std::vector<int64_t> ints = {};           // kInt; kUint: the same bits
  std::vector<double> doubles = {};         // kDouble
  std::vector<std::string> texts = {};      // kText
  std::vector<uint64_t> ends = {};          // kList: where each ends in children[0]
  std::vector<NestedColumn> children = {};  // kStruct: its fields; kList: the one of its elements
  std::vector<uint8_t> nulls = {};          // by value; empty where there are none

  bool HasTypeOf(const NestedColumn& other) const;
};

using FileFacts = std::map<std::string, std::string>;

struct NestedFile {
  FileFacts facts;
  std::vector<NestedColumn> columns;
};

// Reads and writes such files, any number of them: an engine of the database in memory.
class NestedFiles {
 public:
  static Result<NestedFiles> Open();
  NestedFiles(NestedFiles&&) noexcept;
  NestedFiles& operator=(NestedFiles&&) noexcept;
  ~NestedFiles();

  // `columns`: all of one size. `facts` are beside them (Parquet's key-value metadata).
  Status Write(const std::string& path, const std::vector<NestedColumn>& columns,
               const FileFacts& facts);
  // `filter`: SQL condition on the columns; "" is all rows.
  Result<NestedFile> Read(const std::string& path, const std::string& filter = {});
  Result<FileFacts> ReadFacts(const std::string& path);

 private:
  struct Engine;
  explicit NestedFiles(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace sonde::store
