// What holds of a name, found once however many rows have the name. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::compare {

// `test(text)` for names by number; it does not hold where there is none.
template <class Names, class Test>
class NamePredicate {
 public:
  NamePredicate(const Names& names, Test test)
      : names_(names), test_(std::move(test)), known_(names.size(), kUnknown) {}

  bool Of(int32_t name) {
    if (name < 0) return false;
    int8_t& known = known_[static_cast<size_t>(name)];
    if (known == kUnknown) {
      known = test_(std::string_view(names_[static_cast<size_t>(name)])) ? kYes : kNo;
    }
    return known == kYes;
  }

 private:
  enum : int8_t { kUnknown, kNo, kYes };
  const Names& names_;
  Test test_;
  std::vector<int8_t> known_;
};

}  // namespace sonde::compare
