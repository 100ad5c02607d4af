// What a mode keeps of one rank: a few small lists of rows, distinguished by their types.
//
// Made by the mode's map, read by its reduce; nothing else of a trace outlives its turn, so that
// memory and what travels between machines are bounded by these rows. Of another process it comes
// as bytes (serial.h), of which each list is made when it is first asked for. One thread at a time.
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
#include "cluster/frame/serial.h"

namespace sonde::cluster {

class Part {
 public:
  template <class Row>
  std::vector<Row>& Rows() {
    auto& list = lists_[std::type_index(typeid(Row))];
    if (list == nullptr) list = std::make_unique<List<Row>>(TakeSent<Row>());
    return static_cast<List<Row>&>(*list).rows;
  }
  template <class Row>
  const std::vector<Row>& Rows() const {
    static const std::vector<Row> none;
    const auto found = lists_.find(std::type_index(typeid(Row)));
    if (found != lists_.end()) return static_cast<const List<Row>&>(*found->second).rows;
    return sent_.contains(typeid(Row).name()) ? const_cast<Part*>(this)->Rows<Row>() : none;
  }
  // Whether the map found nothing.
  bool empty() const {
    for (const auto& [type, list] : lists_) {
      if (!list->empty()) return false;
    }
    return sent_.empty();
  }

  // For another process of this program.
  std::string Bytes() const {
    std::map<std::string, std::string> sent = sent_;
    for (const auto& [type, list] : lists_) {
      if (list->empty()) continue;
      const bool is_new = sent.emplace(type.name(), list->Bytes()).second;
      CHECK(is_new, "rows of one mode have types of different names");
    }
    std::string bytes;
    serial::Put(sent, bytes);
    return bytes;
  }
  // False where these are no such bytes.
  bool Read(std::string_view bytes) { return serial::Take(bytes, sent_) && bytes.empty(); }

 private:
  struct AnyList {
    AnyList() = default;
    AnyList(const AnyList&) = delete;
    AnyList& operator=(const AnyList&) = delete;
    virtual ~AnyList() = default;
    virtual bool empty() const = 0;
    virtual std::string Bytes() const = 0;
  };
  template <class Row>
  struct List final : AnyList {
    explicit List(std::vector<Row> taken) : rows(std::move(taken)) {}
    bool empty() const override { return rows.empty(); }
    std::string Bytes() const override {
      std::string bytes;
      serial::Put(rows, bytes);
      return bytes;
    }
    std::vector<Row> rows;
  };

  template <class Row>
  std::vector<Row> TakeSent() {
    std::vector<Row> rows;
    const auto found = sent_.find(typeid(Row).name());
    if (found == sent_.end()) return rows;
    std::string_view bytes = found->second;
    CHECK(serial::Take(bytes, rows) && bytes.empty(), "processes of one program have one form");
    sent_.erase(found);
    return rows;
  }

  std::map<std::type_index, std::unique_ptr<AnyList>> lists_;
  std::map<std::string, std::string> sent_;  // by name of the type
};

}  // namespace sonde::cluster
