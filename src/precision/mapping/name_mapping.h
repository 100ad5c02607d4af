// Mappings between the names of two frameworks or two programs: cells to modules (-cm), MindSpore
// APIs to PyTorch APIs (-am), single parameters (-dm).
//
// All take a target name and give the golden name to look for; an empty text means that nothing can
// match. Threads: read-only after loading.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

// `{cell}.{Class}: {module}.{Class}` for whole names, else `part: part` at its first occurrence.
class CellMapping {
 public:
  CellMapping() = default;  // Cell becomes Module, nothing else
  static Result<CellMapping> Load(const std::string& path);
  // `used`: takes the indexes of the lines that apply; may be null.
  std::string Map(std::string_view name, std::vector<size_t>* used = nullptr) const;
  const std::vector<std::string>& lines() const { return lines_; }  // for the user

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::vector<std::string> lines_;
};

class ApiMapping {
 public:
  ApiMapping() = default;  // the built-in table
  static Result<ApiMapping> Load(const std::string& path);
  // `name` is the row's full name (or its key).
  std::string Map(std::string_view name, std::vector<size_t>* used = nullptr) const;
  const std::vector<std::string>& lines() const { return lines_; }  // one an item
  // Items of the file that were left out because their lists do not fit together.
  uint64_t skipped_items() const { return skipped_items_; }

 private:
  using Lists = std::vector<std::pair<std::string, std::string>>;  // target index -> golden index
  struct Item {
    std::string api;                     // golden "Torch.abs"
    std::map<std::string, Lists> lists;  // "input", "output", "parameters", "parameters_grad"
    size_t line = 0;
  };
  std::string MapByItem(const Item& item, std::string_view name, size_t api_end) const;

  bool from_file_ = false;
  uint64_t skipped_items_ = 0;
  std::vector<std::string> lines_;
  std::unordered_map<std::string, Item, base::StringHash, std::equal_to<>> items_;
};

// The golden name of a MindSpore API ("Mint.mean" -> "Torch.mean") by the built-in rules.
std::string BuiltInApi(std::string_view api);

// Full parameter names; unlisted ones stand for themselves.
class DataMapping {
 public:
  static Result<DataMapping> Load(const std::string& path);
  void Add(std::string target, std::string golden) {
    golden_of_[std::move(target)] = {std::move(golden), 0};
  }
  std::string Map(std::string_view name, std::vector<size_t>* used = nullptr) const;
  const std::vector<std::string>& lines() const { return lines_; }  // of a file

 private:
  struct Golden {
    std::string name;
    size_t line = 0;
  };
  std::unordered_map<std::string, Golden, base::StringHash, std::equal_to<>> golden_of_;
  std::vector<std::string> lines_;
};

}  // namespace sonde::precision
