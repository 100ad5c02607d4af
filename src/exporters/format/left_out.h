// What of a trace a form of deliverables has no place for: counted, and told to the user.
//
// Rules of what is kept, merged or left out: docs/reference/deliverables.md. One thread.
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

  // A sentence for each form that left something out.
  std::vector<std::string> Sentences() const {
    std::vector<std::string> sentences;
    std::string form;
    for (const Row& row : rows_) {
      const std::string text = base::Concat(std::to_string(row.count), " ", row.what);
      if (row.form == form) {
        sentences.back() += base::Concat(", ", text);
      } else {
        form = row.form;
        sentences.push_back(
            base::Concat("the form '", form, "' has no place for all of the trace: ", text));
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
  std::vector<Row> rows_;
};

}  // namespace sonde::exporters
