// Builds the b-trees of a SQLite file bottom up, from rows that come in their final order.
//
// Pages are written as they fill; kept in memory are the page under construction and one separator
// a finished page. Threads: a builder belongs to one; builders of one file may run at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "precision/sqlite/page_file.h"

namespace sonde::precision::sqlite {

class TableBuilder {
 public:
  explicit TableBuilder(PageFile* file) : file_(file), leaf_(TreePage::Kind::kTableLeaf) {}

  // Rowids ascend.
  void Add(int64_t rowid, const Record& record);
  // The root page. One call, the last.
  uint32_t Finish();

 private:
  struct Child {
    uint32_t page = 0;
    int64_t last_rowid = 0;
  };
  void FlushLeaf();

  PageFile* file_;
  TreePage leaf_;
  int64_t last_rowid_ = 0;
  std::vector<Child> children_;
};

class IndexBuilder {
 public:
  explicit IndexBuilder(PageFile* file) : file_(file), leaf_(TreePage::Kind::kIndexLeaf) {}

  // In the order of SQLite: column by column, NULL before numbers before texts, texts by bytes.
  void Add(const Record& record);
  uint32_t Finish();

 private:
  // A page and the entry that separates it from the next one; the last has none.
  struct Child {
    uint32_t page = 0;
    std::string separator;
  };
  std::string MakeCell(const Record& record);
  void FlushLeaf(std::string separator);
  static std::vector<Child> Above(std::vector<Child> children, PageFile* file);

  PageFile* file_;
  TreePage leaf_;
  std::string waiting_;  // does not fit into the leaf any more; becomes a separator
  std::vector<Child> children_;
};

}  // namespace sonde::precision::sqlite
