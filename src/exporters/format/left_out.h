// Parts of a trace that a form of deliverables has no place for: counted, and reported to the user.
//
// Rules for keeping, merging and leaving out: docs/reference/deliverables.md. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace sonde::exporters {

class LeftOut {
 public:
  // `what`: "counters without a table: 'queue depth'".
  void Add(std::string_view form, std::string_view what, int64_t count) {
    if (count > 0) rows_.push_back({std::string(form), std::string(what), count});
  }

  // A sentence for each form that left something out. Of many things of one kind, which differ only
  // by a name in quotes, the first is named, with their sum.
  std::vector<std::string> Sentences() const {
    std::vector<std::string> sentences;
    for (size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
      int64_t count = 0;
      const Row& first = rows_[begin];
      for (end = begin; end < rows_.size() && IsAlike(first, rows_[end]); ++end) {
        count += rows_[end].count;
      }
      std::string text = base::Concat(std::to_string(count), " ", first.what);
      if (end - begin > 1) text += base::Concat(" and ", std::to_string(end - begin - 1), " more");
      if (begin > 0 && rows_[begin - 1].form == first.form) {
        sentences.back() += base::Concat(", ", text);
      } else {
        sentences.push_back(
            base::Concat("the form '", first.form, "' has no place for all of the trace: ", text));
      }
    }
    return sentences;
  }

 private:
  struct Row {
    std::string form;
    std::string what;
    int64_t count;
  };
  static bool IsAlike(const Row& one, const Row& other) {
    const auto kind = [](const Row& row) {
      return std::string_view(row.what).substr(0, row.what.find('\''));
    };
    return one.form == other.form && kind(one) == kind(other);
  }
  std::vector<Row> rows_;
};

}  // namespace sonde::exporters
