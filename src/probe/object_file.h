// A JSON file that is one object, written member by member and valid after every member: the end of
// the file is written again with each. Killing the process loses nothing that was finished before.
// The system may however cut a write in two at the border of a page when it kills, and the file
// then ends in the middle of its last member.
//
// Members keep the order of their first appearance; one whose name begins with the moving prefix
// moves to the end whenever it changes until it is finished. A member that has to wait for
// another's place is written when that one is finished. Settle() rewrites the file, complete or not
// at all, only if its order came out differently or a written member changed. Memory: texts are
// held until they are written. Threads: one at a time. Errors: the first failure to write is kept
// and ends writing; the file on disk stays valid.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::probe {

class ObjectFile {
 public:
  // The text around the members, and their indentation: `head` ends with '{'.
  struct Frame {
    std::string head = {};        // "{\n "data": {"
    size_t depth = 0;             // of a member
    std::string tail = {};        // "\n }\n}", after the last member
    std::string empty_tail = {};  // "}\n}", without members
    // Of members that move; empty for none.
    std::string_view moving_prefix = {};
  };

  static Result<ObjectFile> Create(std::string path, Frame frame);
  ObjectFile(ObjectFile&& other) noexcept;
  ObjectFile& operator=(ObjectFile&& other) noexcept;
  ~ObjectFile();

  // A member that is an object with the parts given so far: `key` is set to `text`.
  void SetPart(const std::string& name, std::string_view key, std::string text);
  // A member with one text as value.
  void SetValue(const std::string& name, std::string text);
  // The member is complete and may be written. A later change starts it again from nothing, unless
  // it is kept: then its parts stay in memory and can be changed one by one.
  void Finish(const std::string& name, bool is_kept = false);
  void Remove(const std::string& name);

  // Members in the file and to come.
  size_t size() const { return members_.size() - removed_; }
  bool Has(const std::string& name) const { return index_.contains(name); }

  // Writes open members, and everything in its right order. More may follow.
  Status Settle();
  // The file has a new path (its folder was renamed).
  void MovedTo(std::string path) { path_ = std::move(path); }

  const Status& status() const { return status_; }

 private:
  struct Member {
    std::string name;
    std::vector<std::pair<std::string, std::string>> parts;  // key "" alone: the value itself
    uint64_t order = 0;
    bool is_finished = false;
    bool is_written = false;  // the file has a text of it ...
    bool is_stale = false;    // ... which is not the newest
    bool is_kept = false;
    bool is_removed = false;
    uint64_t offset = 0;  // of the text in the file, once written
    uint64_t bytes = 0;
  };

  ObjectFile(std::string path, Frame frame, int descriptor);
  Member& Touch(const std::string& name);
  bool Moves(const std::string& name) const {
    return !frame_.moving_prefix.empty() && name.starts_with(frame_.moving_prefix);
  }
  void WriteReady();
  void Write(Member& member);
  Status WriteAt(std::string_view text, uint64_t offset);
  void Undo();
  std::string TextOf(const Member& member) const;
  Result<std::string> CurrentText(const Member& member) const;
  Status Rewrite();
  void CloseDescriptor();

  std::string path_;
  Frame frame_;
  int descriptor_ = -1;
  std::vector<Member> members_;
  std::unordered_map<std::string, size_t> index_;
  std::map<uint64_t, size_t> waiting_;  // order -> member, not written yet
  uint64_t next_order_ = 0;
  uint64_t last_written_ = 0;  // order of the last member in the file
  uint64_t data_end_ = 0;      // where the next member begins
  size_t written_ = 0;
  size_t removed_ = 0;
  bool is_stale_ = false;  // the file differs from the result of Settle()
  Status status_;
};

}  // namespace sonde::probe
