// Texts and argument sets that an import adds to a capture's dictionary, as if they had been
// recorded. The dictionary's views of them point into this object. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/capture/dictionary.h"

namespace sonde::importers::capture_import {

class DictionaryAdditions {
 public:
  // The same number for the same text.
  uint32_t Name(Dictionary& dictionary, std::string_view text);
  uint32_t Args(Dictionary& dictionary, std::vector<std::byte> fields);
  uint32_t Frame(Dictionary& dictionary, const FrameEntry& frame);
  uint32_t Stack(Dictionary& dictionary, const std::vector<uint32_t>& frames);

  // Fields of an argument set, behind those that it has.
  void AppendText(Dictionary& dictionary, std::vector<std::byte>& fields, std::string_view key,
                  std::string_view text);

 private:
  std::unordered_map<std::string, uint32_t> names_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::byte>> bytes_;
};

}  // namespace sonde::importers::capture_import
