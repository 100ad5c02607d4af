// A SQLite database file that is written page by page, each page once, front to back.
//
// SQLite itself inserts row by row and sorts every index through its page cache; a file that is
// written once and whole needs neither. Page 1, the schema, comes last. Format:
// https://www.sqlite.org/fileformat2.html
// Errors: the first failed write is kept; Finish() returns it.
// Threads: Append functions may be called from any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/sqlite/record.h"

namespace sonde::precision::sqlite {

// Large pages: rows hold kilobytes of text.
inline constexpr uint32_t kPageBytes = 16384;

// A page of a b-tree: pointers grow from the front, cells from the end.
class TreePage {
 public:
  enum class Kind : uint8_t {
    kIndexInterior = 0x02,
    kTableInterior = 0x05,
    kIndexLeaf = 0x0A,
    kTableLeaf = 0x0D,
  };
  // `begin`: where its header stands, 100 on page 1.
  explicit TreePage(Kind kind, size_t begin = 0);

  bool Fits(size_t cell_bytes) const { return pointers_end_ + 2 + cell_bytes <= content_; }
  bool empty() const { return pointers_end_ == pointers_begin_; }
  // Room for the next cell, which must fit.
  char* Add(size_t cell_bytes);
  // The cell that was added last, which is removed.
  std::string TakeLast();
  // The finished image; `right_child` of interior pages only.
  std::string_view Finish(uint32_t right_child = 0);
  void Clear();

 private:
  Kind kind_;
  size_t begin_;
  size_t pointers_begin_;
  size_t pointers_end_;
  size_t content_ = kPageBytes;
  size_t last_bytes_ = 0;
  std::string page_;
};

// A row of the schema table.
struct SchemaEntry {
  std::string_view type;  // "table", "index"
  std::string_view name;
  std::string_view table;  // that the index belongs to, or the table itself
  uint32_t root = 0;
  std::string_view sql;  // empty: made by a constraint of the table
};

class PageFile {
 public:
  // Replaces a file of that name.
  static Result<std::unique_ptr<PageFile>> Create(const std::string& path);
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;
  ~PageFile();  // closes; the file stays

  // Each returns the number of the (first) page.
  uint32_t Append(std::string_view page);
  // The part of a record that did not fit into its cell: a chain of pages.
  uint32_t AppendOverflow(std::string_view rest);

  // Writes the schema and closes the file.
  Status Finish(const std::vector<SchemaEntry>& schema);

 private:
  explicit PageFile(std::string path) : path_(std::move(path)) {}
  uint32_t TakeNumber();
  // Writes what has gathered, and lets others gather meanwhile.
  void WriteBuffer(std::unique_lock<std::mutex> lock);
  Status WriteFirstPage(const std::vector<SchemaEntry>& schema);

  std::string path_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::string buffer_;       // pages that follow what is handed over for writing
  std::string spare_;        // the memory of a buffer that has been written
  uint32_t page_count_ = 1;  // page 1 is left free
  Status first_error_;
};

void PutBigEnd16(uint32_t value, char* out);
void PutBigEnd32(uint32_t value, char* out);

}  // namespace sonde::precision::sqlite
