// stack.json: where in the program each call was made.
//
// Both shapes are read: groups of calls that share a stack ({"0": [[names], [frames]]}) and one
// entry a call ({"name": [frames]}). The file stays mapped; frames are decoded on demand.
// Threads: read-only after loading.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/status.h"
#include "precision/dump/text_arena.h"

namespace sonde::precision {

class StackFile {
 public:
  static constexpr int32_t kNoStack = -1;

  // An absent file counts as an empty one; present() distinguishes them.
  static Result<std::unique_ptr<StackFile>> LoadIfPresent(const std::string& path);
  static Result<std::unique_ptr<StackFile>> Parse(std::string_view text, std::string_view path);

  bool present() const { return present_; }
  // Index of the call's stack, or kNoStack.
  int32_t Find(std::string_view api) const;
  size_t stack_count() const { return frames_.size(); }
  // The frames, as the list of strings that stands in the file.
  std::vector<std::string> Frames(int32_t stack) const;
  // The frames as the text of a Python list, which is what result tables show. Cached at load.
  std::string_view PythonText(int32_t stack) const { return texts_[static_cast<size_t>(stack)]; }

 private:
  StackFile() = default;

  base::MappedFile file_;
  TextArena arena_;
  std::vector<std::string_view> frames_;  // raw JSON
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, int32_t, base::StringHash> stack_of_;
  bool present_ = false;
};

}  // namespace sonde::precision
