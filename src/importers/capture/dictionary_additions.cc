#include "importers/capture/dictionary_additions.h"

#include <cstring>
#include <span>
#include <utility>

#include "capture/args.h"

namespace sonde::importers::capture_import {
namespace {

void AppendField(std::vector<std::byte>& fields, uint32_t key, capture::ArgType type,
                 const void* data, size_t size) {
  const capture::ArgHead head{key, static_cast<uint16_t>(type), 0, static_cast<uint32_t>(size)};
  const size_t begin = (fields.size() + 3) / 4 * 4;  // that of the last field may be missing
  fields.resize(begin + sizeof(head) + (size + 3) / 4 * 4);
  std::memcpy(fields.data() + begin, &head, sizeof(head));
  if (size > 0) std::memcpy(fields.data() + begin + sizeof(head), data, size);
}

}  // namespace

uint32_t DictionaryAdditions::Name(Dictionary& dictionary, std::string_view text) {
  const auto [place, is_new] =
      names_.try_emplace(std::string(text), static_cast<uint32_t>(dictionary.names.size()));
  if (is_new) {
    texts_.emplace_back(text);
    dictionary.names.push_back(texts_.back());
  }
  return place->second;
}

uint32_t DictionaryAdditions::Args(Dictionary& dictionary, std::vector<std::byte> fields) {
  if (dictionary.args.empty()) dictionary.args.emplace_back();  // 0 is none
  bytes_.push_back(std::move(fields));
  dictionary.args.emplace_back(bytes_.back());
  return static_cast<uint32_t>(dictionary.args.size() - 1);
}

uint32_t DictionaryAdditions::Frame(Dictionary& dictionary, const FrameEntry& frame) {
  if (dictionary.frames.empty()) dictionary.frames.emplace_back();
  dictionary.frames.push_back(frame);
  return static_cast<uint32_t>(dictionary.frames.size() - 1);
}

uint32_t DictionaryAdditions::Stack(Dictionary& dictionary, const std::vector<uint32_t>& frames) {
  if (dictionary.stacks.empty()) dictionary.stacks.emplace_back();
  const auto bytes = std::as_bytes(std::span(frames));
  bytes_.emplace_back(bytes.begin(), bytes.end());
  dictionary.stacks.emplace_back(bytes_.back());
  return static_cast<uint32_t>(dictionary.stacks.size() - 1);
}

void DictionaryAdditions::AppendText(Dictionary& dictionary, std::vector<std::byte>& fields,
                                     std::string_view key, std::string_view text) {
  AppendField(fields, Name(dictionary, key), capture::ArgType::kText, text.data(), text.size());
}

}  // namespace sonde::importers::capture_import
