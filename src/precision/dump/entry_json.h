// Writes an entry of a dump.json from its flattened rows: the inverse of DumpFile.
//
// Texts that are passed in must outlive the object. Threads: pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "precision/dump/dump_file.h"

namespace sonde::precision {

// The text as JSON, in quotes.
std::string QuotedJson(std::string_view text);

// Records by their place in a section: "0.1" is the second part of the first. Numbers make
// lists, names make dicts, as they were before the dump was flattened.
class RecordPlaces {
 public:
  void Put(std::string_view path, std::string_view json);
  bool empty() const { return below_.empty(); }
  std::string Json() const;

 private:
  RecordPlaces* Below(std::string_view name);

  std::string_view record_;  // JSON; empty: others below
  std::vector<std::pair<std::string_view, std::unique_ptr<RecordPlaces>>> below_;
};

// The sections of one entry, in the order in which dumps have them.
class EntryJson {
 public:
  explicit EntryJson(std::string_view api)
      : backward_(api.find("backward") != std::string_view::npos) {}

  // `key`: the row's name behind the entry's, "input.0"; `json`: its record.
  void Add(Section section, std::string_view key, std::string_view json);
  // `merge_info`: of merged ranks; empty: none.
  std::string Json(const std::string& merge_info) const;

 private:
  bool backward_;
  RecordPlaces arguments_;
  RecordPlaces named_arguments_;
  RecordPlaces input_;
  RecordPlaces parameters_;
  RecordPlaces output_;
  std::vector<std::pair<std::string_view, std::string_view>> gradients_;
};

}  // namespace sonde::precision
