// Progress of an import, and a way to end it: the importer reports, another thread reads.
//
// The share is an estimate by bytes of the text that was read and rows that were written, for a
// bar; where an importer does not report it stays 0. Threads: any. A cancelled import ends with
// kCancelled at its next step and leaves nothing behind.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sonde::importers {

class ImportWatch {
 public:
  ImportWatch() = default;
  ImportWatch(const ImportWatch&) = delete;
  ImportWatch& operator=(const ImportWatch&) = delete;

  void Cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }
  const std::atomic<bool>& cancelled_flag() const { return cancelled_; }

  // Bytes that will be read, and those that have been.
  void Expect(uint64_t bytes) { expected_ += bytes; }
  void Read(uint64_t bytes) { read_ += bytes; }
  // From now on rows are written.
  void Write(uint64_t rows) { written_ += rows; }
  void ExpectRows(uint64_t rows) { expected_rows_ += rows; }

  // 0 to 1: reading takes about the first two thirds.
  double Share() const {
    constexpr double kReading = 0.65;
    const auto part = [](uint64_t done, uint64_t whole) {
      return whole == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(whole));
    };
    return kReading * part(read_, expected_) + (1 - kReading) * part(written_, expected_rows_);
  }

 private:
  std::atomic<bool> cancelled_ = false;
  std::atomic<uint64_t> expected_ = 0;
  std::atomic<uint64_t> read_ = 0;
  std::atomic<uint64_t> expected_rows_ = 0;
  std::atomic<uint64_t> written_ = 0;
};

}  // namespace sonde::importers
