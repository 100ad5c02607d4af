// Lists that are common to many records, each kept once: identified by their bytes in the record.
// Memory: the distinct ones. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace sonde::importers::raw {

template <class Item>
class ListPool {
 public:
  // The number of the list with these bytes; read(bytes) gives its items when it is new.
  template <class Read>
  int32_t Add(std::string_view bytes, Read&& read) {
    const auto known = number_of_bytes_.find(bytes);
    if (known != number_of_bytes_.end()) return known->second;
    const auto number = static_cast<int32_t>(lists_.size());
    lists_.push_back(read(bytes));
    number_of_bytes_.emplace(std::string(bytes), number);
    return number;
  }
  const std::vector<Item>& operator[](int32_t number) const {
    return lists_[static_cast<size_t>(number)];
  }

 private:
  std::unordered_map<std::string, int32_t, base::StringHash, std::equal_to<>> number_of_bytes_;
  std::vector<std::vector<Item>> lists_;
};

}  // namespace sonde::importers::raw
