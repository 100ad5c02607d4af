// What a mode keeps of one rank: a few small lists of rows, distinguished by their types.
//
// Made by the mode's map, read by its reduce; nothing else of a trace outlives its turn, so that
// memory and what travels between machines are bounded by these rows. In a file (parts/part_file.h)
// each list is a column under the name of its type, and is made when it is first asked for; a
// column of another type is no rows. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/frame/columns.h"

namespace sonde::cluster {

// Lists of many ranks, by name: one value a rank.
using ListColumns = std::map<std::string, store::NestedColumn>;

class Part {
 public:
  Part() = default;
  // That of the n-th rank.
  Part(std::shared_ptr<const ListColumns> columns, size_t row)
      : columns_(std::move(columns)), row_(row) {}

  template <class Row>
  std::vector<Row>& Rows() {
    auto& list = lists_[std::type_index(typeid(Row))];
    if (list == nullptr) list = std::make_unique<List<Row>>(TakeRows<Row>());
    return static_cast<List<Row>&>(*list).rows;
  }
  template <class Row>
  const std::vector<Row>& Rows() const {
    static const std::vector<Row> none;
    const auto found = lists_.find(std::type_index(typeid(Row)));
    if (found != lists_.end()) return static_cast<const List<Row>&>(*found->second).rows;
    return HasColumn(columns::TypeName<Row>()) ? const_cast<Part*>(this)->Rows<Row>() : none;
  }
  // Whether the map found nothing.
  bool empty() const {
    for (const auto& [type, list] : lists_) {
      if (!list->empty()) return false;
    }
    if (columns_ == nullptr) return true;
    for (const auto& [name, column] : *columns_) {
      if (LengthIn(column) > 0) return false;
    }
    return true;
  }
  // Becomes the value `row` of the columns, which have none behind it. Of a part that a map made.
  void AppendTo(ListColumns& columns, size_t row) const {
    CHECK(columns_ == nullptr, "a part of a file is there already");
    for (const auto& [type, list] : lists_) {
      if (!list->empty()) list->AppendTo(columns, row);
    }
  }
  // Empty lists up to that many values.
  static void Pad(store::NestedColumn& column, size_t rows) {
    column.ends.resize(rows, column.children.front().size);
    column.size = rows;
  }

 private:
  struct AnyList {
    AnyList() = default;
    AnyList(const AnyList&) = delete;
    AnyList& operator=(const AnyList&) = delete;
    virtual ~AnyList() = default;
    virtual bool empty() const = 0;
    virtual void AppendTo(ListColumns& columns, size_t row) const = 0;
  };
  template <class Row>
  struct List final : AnyList {
    explicit List(std::vector<Row> taken) : rows(std::move(taken)) {}
    bool empty() const override { return rows.empty(); }
    void AppendTo(ListColumns& columns, size_t row) const override {
      const std::string name(columns::TypeName<Row>());
      auto [found, is_new] = columns.try_emplace(name);
      const auto own = columns::Empty<std::vector<Row>>(name);
      if (is_new) found->second = own;
      CHECK(found->second.size <= row && found->second.HasTypeOf(own),
            "rows of one mode have types of different names");
      Pad(found->second, row);
      columns::Put(rows, found->second);
    }
    std::vector<Row> rows;
  };

  bool HasColumn(std::string_view name) const {
    return columns_ != nullptr && columns_->contains(std::string(name));
  }
  size_t LengthIn(const store::NestedColumn& column) const {
    return column.ends[row_] - (row_ == 0 ? 0 : column.ends[row_ - 1]);
  }
  template <class Row>
  std::vector<Row> TakeRows() {
    std::vector<Row> rows;
    if (columns_ == nullptr) return rows;
    const auto found = columns_->find(std::string(columns::TypeName<Row>()));
    if (found == columns_->end()) return rows;
    const auto own = columns::Empty<std::vector<Row>>(found->first);
    if (found->second.HasTypeOf(own)) columns::Take(found->second, row_, rows);
    return rows;
  }

  std::map<std::type_index, std::unique_ptr<AnyList>> lists_;
  std::shared_ptr<const ListColumns> columns_;  // of a file
  size_t row_ = 0;
};

}  // namespace sonde::cluster
