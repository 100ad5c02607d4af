#include "precision/dump/construct_file.h"

#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/json_scanner.h"

namespace sonde::precision {
namespace {

using JsonKind = JsonScanner::Kind;

constexpr std::string_view kMicroStepKey = "megatron_micro_step_number";

int32_t ReadMicroStep(JsonScanner* json) {
  const auto value = base::ParseInt64(json->Literal());
  if (!value || *value < INT32_MIN || *value > INT32_MAX) {
    json->Fail("expected a micro step number");
    return 0;
  }
  return static_cast<int32_t>(*value);
}

// A text, or nothing for null.
std::string_view ReadParent(JsonScanner* json, TextArena* arena) {
  if (json->Peek() == JsonKind::kNull) {
    json->Literal();
    return {};
  }
  return arena->Store(json->String());
}

}  // namespace

Result<std::unique_ptr<ConstructFile>> ConstructFile::Parse(std::string_view text,
                                                            std::string_view path) {
  std::unique_ptr<ConstructFile> file(new ConstructFile());
  // An entry of the reference takes about 70 characters.
  file->entries_.reserve(text.size() / 64);
  file->index_.reserve(text.size() / 64);
  JsonScanner json(text, path);
  if (json.Peek() != JsonKind::kObject) json.Fail("expected an object");
  json.BeginObject();
  for (std::string_view key; json.NextKey(&key);) {
    if (key == kMicroStepKey) {
      file->megatron_micro_step_number_ = ReadMicroStep(&json);
      continue;
    }
    ConstructEntry entry;
    entry.name = file->arena_.Store(key);
    if (json.Peek() == JsonKind::kArray) {
      json.BeginArray();
      if (json.NextElement()) entry.parent = ReadParent(&json, &file->arena_);
      if (json.NextElement()) entry.micro_step = ReadMicroStep(&json);
      if (json.NextElement()) json.Fail("expected [parent, micro step]");
    } else {
      entry.parent = ReadParent(&json, &file->arena_);
    }
    if (json.failed()) break;
    file->index_.emplace(entry.name, static_cast<uint32_t>(file->entries_.size()));
    file->entries_.push_back(entry);
  }
  file->is_cut_off_ = json.ran_out() && !file->entries_.empty();
  if (file->is_cut_off_) return file;
  if (!json.failed()) json.ExpectEnd();
  SONDE_RETURN_IF_ERROR(json.status());
  return file;
}

Result<std::unique_ptr<ConstructFile>> ConstructFile::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MappedFile::Open(path));
  return Parse(mapped.text(), path);
}

Result<std::unique_ptr<ConstructFile>> ConstructFile::LoadIfPresent(const std::string& path) {
  if (!base::PathExists(path)) return std::unique_ptr<ConstructFile>(new ConstructFile());
  return Load(path);
}

const ConstructEntry* ConstructFile::Find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::string_view ConstructFile::ModuleOf(std::string_view name) const {
  // The file may hold a cycle; no honest tree is deeper than it has entries.
  for (size_t steps = 0; steps <= entries_.size() && !name.empty(); ++steps) {
    if (IsModuleName(name)) return name;
    const ConstructEntry* entry = Find(name);
    if (entry == nullptr) return {};
    name = entry->parent;
  }
  return {};
}

}  // namespace sonde::precision
