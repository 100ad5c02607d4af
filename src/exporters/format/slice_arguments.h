// Arguments of slices, which the tables in memory do not hold: read from the store of an imported
// trace for the slices on tracks of some kinds.
//
// Read-only after Load(), any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace sonde::exporters {

class SliceArguments {
 public:
  // Of slices whose track has one of these kinds and whose category is none of the framework's
  // operators. Empty without a store.
  static Result<SliceArguments> Load(const store::Store* store,
                                     std::initializer_list<std::string_view> track_kinds);

  // {"key":value,...}; "{}" where there are none.
  std::string Json(int32_t slice_id) const;
  // "" where there is none; a number as it is written.
  std::string_view Text(int32_t slice_id, std::string_view key) const;
  std::optional<int64_t> Int(int32_t slice_id, std::string_view key) const;

 private:
  struct Argument {
    std::string key;
    std::string value;
    bool is_json = false;  // a number or a JSON value: no quotes
  };
  std::unordered_map<int32_t, std::vector<Argument>> of_slice_;
};

}  // namespace sonde::exporters
