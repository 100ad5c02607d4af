#include "precision/dump/stack_file.h"

#include <utility>

#include "base/strings.h"
#include "precision/dump/json_scanner.h"
#include "precision/dump/value.h"

namespace sonde::precision {
namespace {

using JsonKind = JsonScanner::Kind;

// The grouped shape: a list of two lists, names and frames.
bool IsGroup(std::string_view raw, std::vector<std::string>* names, std::string_view* frames) {
  JsonScanner json(raw, "stack");
  if (json.Peek() != JsonKind::kArray) return false;
  json.BeginArray();
  if (!json.NextElement() || json.Peek() != JsonKind::kArray) return false;
  json.BeginArray();
  while (json.NextElement()) {
    if (json.Peek() != JsonKind::kString) return false;
    names->emplace_back(json.String());
  }
  if (!json.NextElement()) return false;
  *frames = json.SkipValue();
  return !json.failed();
}

}  // namespace

Result<std::unique_ptr<StackFile>> StackFile::Parse(std::string_view text, std::string_view path) {
  std::unique_ptr<StackFile> file(new StackFile());
  file->present_ = true;
  JsonScanner json(text, path);
  if (json.Peek() != JsonKind::kObject) json.Fail("expected an object");
  json.BeginObject();
  for (std::string_view key; json.NextKey(&key);) {
    const std::string name(key);
    std::string_view raw = json.SkipValue();
    if (json.failed()) break;
    std::vector<std::string> names;
    if (std::string_view frames; IsGroup(raw, &names, &frames)) {
      raw = frames;
    } else {
      names.assign(1, name);
    }
    const auto stack = static_cast<int32_t>(file->frames_.size());
    file->frames_.push_back(raw);
    file->texts_.push_back(PythonTextOfJson(raw));
    for (const std::string& api : names) {
      file->stack_of_.emplace(file->arena_.Store(api), stack);
    }
  }
  if (!json.failed()) json.ExpectEnd();
  SONDE_RETURN_IF_ERROR(json.status());
  return file;
}

Result<std::unique_ptr<StackFile>> StackFile::LoadIfPresent(const std::string& path) {
  if (!base::PathExists(path)) return std::unique_ptr<StackFile>(new StackFile());
  SONDE_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::Open(path));
  SONDE_ASSIGN_OR_RETURN(auto file, Parse(mapped.text(), path));
  file->file_ = std::move(mapped);
  return file;
}

int32_t StackFile::Find(std::string_view api) const {
  const auto found = stack_of_.find(api);
  return found == stack_of_.end() ? kNoStack : found->second;
}

std::vector<std::string> StackFile::Frames(int32_t stack) const {
  std::vector<std::string> frames;
  JsonScanner json(frames_[static_cast<size_t>(stack)], "stack");
  if (json.Peek() == JsonKind::kString) {
    frames.emplace_back(json.String());
    return frames;
  }
  if (json.Peek() != JsonKind::kArray) return frames;
  json.BeginArray();
  while (json.NextElement()) {
    if (json.Peek() == JsonKind::kString) {
      frames.emplace_back(json.String());
    } else {
      frames.push_back(PythonTextOfJson(json.SkipValue()));
    }
  }
  return frames;
}

}  // namespace sonde::precision
