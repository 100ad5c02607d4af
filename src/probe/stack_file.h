// stack.json: for each call path that led to recorded calls, the names of the calls and the frames,
// innermost first.
//
// The groups are held in memory and the file is written whole, complete or not at all: at
// Settle(), and in between whenever that costs less than a fiftieth of the time.
// Threads: one at a time. Errors: Status of Settle().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace sonde::probe {

class StackFile {
 public:
  static Result<StackFile> Create(std::string path);

  // The elements of a list of frames, laid out; `frames` holds JSON texts.
  static std::string Elements(const std::vector<std::string_view>& frames);
  // Equal lists of frames make one group. Returns its number.
  size_t Add(std::string_view name, const std::string& elements);
  // The same for a group that is known.
  void AddTo(size_t group, std::string_view name);
  // Writes the file now if it is due.
  void WriteIfDue();
  Status Settle();
  void MovedTo(std::string path) { path_ = std::move(path); }

 private:
  struct Group {
    std::string names;   // the elements of the list, laid out
    std::string frames;  // the same
  };

  explicit StackFile(std::string path) : path_(std::move(path)) {}
  std::string Text() const;

  std::string path_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, size_t> index_;  // frames -> group
  bool is_changed_ = false;
  int64_t due_ns_ = 0;
};

}  // namespace sonde::probe
