// construct.json: which module every call ran in, and its micro step where Megatron wrote one.
//
// A file that only ends too early, as a program leaves it that was killed while it wrote, gives its
// whole entries.
// Threads: read-only after loading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "precision/dump/text_arena.h"

namespace sonde::precision {

struct ConstructEntry {
  std::string_view name;
  std::string_view parent;  // empty: none
  int32_t micro_step = 0;
};

class ConstructFile {
 public:
  static Result<std::unique_ptr<ConstructFile>> Load(const std::string& path);
  // An absent file is an empty one.
  static Result<std::unique_ptr<ConstructFile>> LoadIfPresent(const std::string& path);
  static Result<std::unique_ptr<ConstructFile>> Parse(std::string_view text, std::string_view path);

  // In the order of the file.
  const std::vector<ConstructEntry>& entries() const { return entries_; }
  // -1 where the dump has no micro steps of Megatron.
  int32_t megatron_micro_step_number() const { return megatron_micro_step_number_; }
  // The file ends in the middle of an entry, which is left out.
  bool is_cut_off() const { return is_cut_off_; }

  // Null when the name is unknown.
  const ConstructEntry* Find(std::string_view name) const;
  // The nearest module around the call, itself included; empty when there is none.
  std::string_view ModuleOf(std::string_view name) const;

 private:
  ConstructFile() = default;

  TextArena arena_;
  std::vector<ConstructEntry> entries_;
  std::unordered_map<std::string_view, uint32_t, base::StringHash> index_;
  int32_t megatron_micro_step_number_ = -1;
  bool is_cut_off_ = false;
};

// "Module." or "Cell." names.
inline bool IsModuleName(std::string_view name) {
  return name.starts_with("Module.") || name.starts_with("Cell.");
}

}  // namespace sonde::precision
