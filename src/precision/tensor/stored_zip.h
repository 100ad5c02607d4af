// The stored (never compressed) members of a zip file, in place, as torch.save() writes them.
//
// Members may lie beyond 4 GiB (zip64). Errors: kCorruptData for a broken directory or member,
// kUnimplemented for a compressed one. `file` must outlive the reader. Threads: read-only behind
// Open().
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/status.h"

namespace sonde::precision {

class StoredZip {
 public:
  explicit StoredZip(std::string_view file) : file_(file) {}

  Status Open();
  // The bytes of the member that is called `name` behind the first '/'.
  Result<std::string_view> Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Lookup(name) != nullptr; }

 private:
  struct Member {
    uint64_t offset = 0;
    uint64_t size = 0;
    bool compressed = false;
  };

  template <class T>
  T At(size_t offset) const {
    return base::LoadLe<T>(file_.data() + offset);
  }
  const Member* Lookup(std::string_view name) const;
  Status FindDirectory(uint64_t* offset, uint64_t* entries) const;
  void ReadZip64Extra(std::string_view extra, uint32_t stored_size, uint32_t size32,
                      uint32_t offset32, Member* member) const;

  std::string_view file_;
  std::unordered_map<std::string_view, Member> members_;  // by the path after the first /
};

}  // namespace sonde::precision
