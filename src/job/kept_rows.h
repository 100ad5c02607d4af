// Rows of a result (SONDE_RESULT) that outlive the trace they were made from: with copies of their
// texts.
//
// Moved, not copied. One thread at a time.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::job {

template <class Row>
class KeptRows {
 public:
  KeptRows() = default;
  KeptRows(KeptRows&&) noexcept = default;
  KeptRows& operator=(KeptRows&&) noexcept = default;
  KeptRows(const KeptRows&) = delete;
  KeptRows& operator=(const KeptRows&) = delete;
  ~KeptRows() = default;

  void Add(Row row) {
    row.VisitTexts([this](std::string_view& text) { text = texts_.emplace_back(text); });
    rows_.push_back(std::move(row));
  }
  std::span<const Row> rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::deque<std::string> texts_;
};

}  // namespace sonde::job
