#include "probe/entry_file.h"

#include <charconv>
#include <vector>

namespace sonde::probe {

void EntryFile::SetPart(const std::string& name, std::string_view key, std::string text,
                        bool waits) {
  if (!waits && held_.empty()) {
    file_.SetPart(name, key, std::move(text));
    return;
  }
  Take({Kind::kPart, waits, name, std::string(key), std::move(text)});
}

void EntryFile::SetValue(const std::string& name, std::string text, bool waits) {
  Take({.kind = Kind::kValue, .waits = waits, .name = name, .text = std::move(text)});
}

void EntryFile::Finish(const std::string& name, bool is_kept) {
  if (held_.empty()) {
    file_.Finish(name, is_kept);
    return;
  }
  Take({.kind = is_kept ? Kind::kFinishKept : Kind::kFinish, .name = name});
}

void EntryFile::Remove(const std::string& name) { Take({.kind = Kind::kRemove, .name = name}); }

void EntryFile::Take(Change change) {
  if (change.waits || !held_.empty()) {
    held_.push_back(std::move(change));
  } else {
    Apply(std::move(change));
  }
}

void EntryFile::Apply(Change change) {
  switch (change.kind) {
    case Kind::kPart:
      return file_.SetPart(change.name, change.key, std::move(change.text));
    case Kind::kValue:
      return file_.SetValue(change.name, std::move(change.text));
    case Kind::kFinish:
      return file_.Finish(change.name);
    case Kind::kFinishKept:
      return file_.Finish(change.name, /*is_kept=*/true);
    case Kind::kRemove:
      return file_.Remove(change.name);
  }
}

void EntryFile::Give(uint64_t first, std::span<const std::string> numbers) {
  for (const std::string& number : numbers) numbers_.emplace(first++, number);
  while (!held_.empty()) {
    Change& change = held_.front();
    if (change.waits && !FillIn(change.text))
      return;  // another thread is fetching the missing numbers
    Apply(std::move(change));
    held_.pop_front();
  }
}

// False where a number is still missing; the text is then unchanged. Each number is of one text.
bool EntryFile::FillIn(std::string& text) {
  std::string filled;
  std::vector<uint64_t> used;
  filled.reserve(text.size());
  const std::string quoted = '"' + mark_;
  size_t done = 0;
  for (size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, done)) {
    uint64_t index = 0;
    const char* const digits = text.data() + at + quoted.size();
    const char* const end = std::from_chars(digits, text.data() + text.size(), index).ptr;
    const auto number = numbers_.find(index);
    if (number == numbers_.end()) return false;
    filled.append(text, done, at - done).append(number->second);
    used.push_back(index);
    done = static_cast<size_t>(end - text.data()) + 1;  // and the quote behind it
  }
  filled.append(text, done);
  text = std::move(filled);
  for (const uint64_t index : used) numbers_.erase(index);
  return true;
}

}  // namespace sonde::probe
