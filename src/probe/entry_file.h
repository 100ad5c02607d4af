// Entries of a dump on their way into an ObjectFile. An entry whose numbers are still computed on a
// device is held back, and all that comes after it, until the numbers were fetched, many at a time.
// In the file the order is the same as without waiting.
//
// In texts that wait, the JSON text "<mark><index>" stands for a number; indexes are assigned by
// the code that computes the numbers and count from 0. Memory: the entries that are held back;
// check held() and fetch in time. Threads: one at a time. Errors: those of ObjectFile.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "probe/object_file.h"

namespace sonde::probe {

class EntryFile {
 public:
  EntryFile(ObjectFile file, std::string mark) : file_(std::move(file)), mark_(std::move(mark)) {}

  // As those of ObjectFile. `waits`: the text has marks.
  void SetPart(const std::string& name, std::string_view key, std::string text, bool waits);
  void SetValue(const std::string& name, std::string text, bool waits);
  void Finish(const std::string& name, bool is_kept = false);
  void Remove(const std::string& name);

  // Changes that are held back.
  size_t held() const { return held_.size(); }
  // JSON texts of the numbers first, first + 1, ...; entries that waited for them are released.
  // They may come before the text that they belong to, which another thread is still rendering.
  void Give(uint64_t first, std::span<const std::string> numbers);

  Status Settle() { return file_.Settle(); }
  void MovedTo(std::string path) { file_.MovedTo(std::move(path)); }
  const Status& status() const { return file_.status(); }

 private:
  enum class Kind : uint8_t { kPart, kValue, kFinish, kFinishKept, kRemove };
  struct Change {
    Kind kind;
    bool waits = false;
    std::string name;
    std::string key = {};
    std::string text = {};
  };
  void Take(Change change);
  void Apply(Change change);
  bool FillIn(std::string& text);

  ObjectFile file_;
  std::string mark_;
  std::deque<Change> held_;
  std::unordered_map<uint64_t, std::string> numbers_;  // received, not used yet
};

}  // namespace sonde::probe
