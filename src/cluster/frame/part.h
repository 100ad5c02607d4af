// What a mode keeps of one rank: a few small lists of rows, told apart by their types.
//
// Made by the mode's map, read by its reduce; nothing else of a trace outlives its turn, so that
// memory and what travels between machines are bounded by these rows. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <vector>

namespace sonde::cluster {

class Part {
 public:
  template <class Row>
  std::vector<Row>& Rows() {
    auto& list = lists_[std::type_index(typeid(Row))];
    if (list == nullptr) list = std::make_unique<List<Row>>();
    return static_cast<List<Row>&>(*list).rows;
  }
  template <class Row>
  const std::vector<Row>& Rows() const {
    static const std::vector<Row> none;
    const auto found = lists_.find(std::type_index(typeid(Row)));
    return found == lists_.end() ? none : static_cast<const List<Row>&>(*found->second).rows;
  }
  // Whether the map found nothing.
  bool empty() const {
    for (const auto& [type, list] : lists_) {
      if (!list->empty()) return false;
    }
    return true;
  }

 private:
  struct AnyList {
    AnyList() = default;
    AnyList(const AnyList&) = delete;
    AnyList& operator=(const AnyList&) = delete;
    virtual ~AnyList() = default;
    virtual bool empty() const = 0;
  };
  template <class Row>
  struct List final : AnyList {
    bool empty() const override { return rows.empty(); }
    std::vector<Row> rows;
  };
  std::map<std::type_index, std::unique_ptr<AnyList>> lists_;
};

}  // namespace sonde::cluster
