#include "precision/checkpoint/checkpoint.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "precision/checkpoint/checkpoint_file.h"
#include "precision/checkpoint/megatron.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

bool IsTorchName(std::string_view name) {
  const std::string_view extension = base::Extension(name);
  return extension == ".pt" || extension == ".pth" || extension == ".bin" || extension == ".ckpt";
}

// Names of files in a folder; those of links that lead to files, too.
std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> out;
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return out;
  for (const base::DirectoryEntry& entry : *entries) {
    if (base::IsRegularFile(JoinPath(folder, entry.name))) out.push_back(entry.name);
  }
  return out;
}

struct Shards {
  std::vector<std::string> files;
  std::vector<std::string> notes;
};

// The files that an index names.
Result<std::vector<std::string>> FilesOfIndex(const std::string& folder, const std::string& index) {
  SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document,
                         base::JsonDocument::ReadFile(JoinPath(folder, index)));
  std::set<std::string> names;
  for (const auto& [tensor, file] : document.root()["weight_map"].Members()) {
    SONDE_ASSIGN_OR_RETURN(const std::string name, file.AsString());
    if (name.find('/') != std::string::npos) {
      return base::CorruptDataError(Concat(index, " names a file outside its folder: ", name));
    }
    names.insert(name);
  }
  for (const std::string& name : names) {
    if (!base::IsRegularFile(JoinPath(folder, name))) {
      return base::NotFoundError(Concat(JoinPath(folder, name), " is missing, which ", index,
                                        " names: the checkpoint is not complete"));
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

// Which files of a folder are the checkpoint: safetensors where both forms lie side by side.
Result<Shards> FindShards(const std::string& folder) {
  Shards out;
  std::vector<std::string> torch_files;
  std::string index;
  for (const std::string& name : FilesOf(folder)) {
    if (base::Extension(name) == ".safetensors") out.files.push_back(name);
    if (IsTorchName(name)) torch_files.push_back(name);
    if (name.ends_with(".index.json") && (index.empty() || name.find("safetensors") != name.npos)) {
      index = name;
    }
  }
  if (!out.files.empty() && !torch_files.empty()) {
    out.notes.push_back(
        Concat(folder, ": the safetensors are compared, ",
               base::CountOf(torch_files.size(), "file of torch is", "files of torch are"),
               " not (", torch_files.front(), ")"));
  }
  if (out.files.empty()) out.files = torch_files;
  if (!index.empty()) {
    SONDE_ASSIGN_OR_RETURN(const std::vector<std::string> named, FilesOfIndex(folder, index));
    for (const std::string& name : out.files) {
      if (std::find(named.begin(), named.end(), name) == named.end()) {
        out.notes.push_back(
            Concat(JoinPath(folder, name), " is not named in ", index, " and left out"));
      }
    }
    out.files = named;
  }
  return out;
}

// The folder in which the files lie: below it there may be one "model" or "actor" and so on.
Result<Checkpoint> LoadFolder(const std::string& folder) {
  SONDE_ASSIGN_OR_RETURN(Shards shards, FindShards(folder));
  if (shards.files.empty()) {
    return base::NotFoundError(
        Concat(folder,
               " holds no checkpoint: no .safetensors, .pt, .pth, .bin or .ckpt and no "
               "mp_rank_* folder"));
  }
  Checkpoint out;
  out.notes = std::move(shards.notes);
  std::unordered_set<std::string> names;
  bool repeated = false;
  std::vector<std::pair<std::string, CheckpointFile>> files;
  for (const std::string& name : shards.files) {
    SONDE_ASSIGN_OR_RETURN(CheckpointFile file, OpenCheckpointFile(JoinPath(folder, name)));
    for (const NamedTensor& tensor : file.tensors) {
      repeated = !names.insert(tensor.name).second || repeated;
    }
    files.emplace_back(name, std::move(file));
  }
  if (repeated) {
    out.notes.push_back(Concat(folder,
                               ": files hold equal names (one file a rank?), so names "
                               "begin with the file's"));
  }
  const bool safetensors = files.front().second.is_safetensors;
  for (auto& [name, file] : files) {
    const std::string prefix = repeated ? Concat(name, ":") : std::string();
    for (NamedTensor& tensor : file.tensors) {
      out.tensors.push_back({prefix + tensor.name, std::move(tensor.tensor)});
    }
    for (const std::string& text : file.left_out) out.left_out.push_back(prefix + text);
    out.other_values += file.other_values;
  }
  out.kind =
      Concat(safetensors ? "safetensors" : "torch", ", ", base::CountOf(files.size(), "file"));
  return out;
}

Result<Checkpoint> LoadFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(CheckpointFile file, OpenCheckpointFile(path));
  Checkpoint out;
  out.kind = file.is_safetensors ? "safetensors, 1 file" : "torch, 1 file";
  out.tensors = std::move(file.tensors);
  out.left_out = std::move(file.left_out);
  out.other_values = file.other_values;
  return out;
}

}  // namespace

bool NaturallyBefore(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<uint8_t>(a[i]) < static_cast<uint8_t>(b[j]);
      ++i;
      ++j;
      continue;
    }
    size_t end_a = i;
    size_t end_b = j;
    while (end_a < a.size() && is_digit(a[end_a])) ++end_a;
    while (end_b < b.size() && is_digit(b[end_b])) ++end_b;
    while (i + 1 < end_a && a[i] == '0') ++i;
    while (j + 1 < end_b && b[j] == '0') ++j;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    const int order = a.substr(i, end_a - i).compare(b.substr(j, end_b - j));
    if (order != 0) return order < 0;
    i = end_a;
    j = end_b;
  }
  if ((i == a.size()) != (j == b.size())) return i == a.size();
  return a < b;  // equal but for zeros before numbers
}

bool IsCheckpoint(const std::string& path) {
  if (IsDistributed(path)) return true;
  if (base::IsRegularFile(path)) {
    return base::Extension(path) == ".safetensors" || IsTorchName(path);
  }
  if (!base::IsDirectory(path)) return false;
  if (IsMegatronFolder(path)) return true;
  bool found = false;
  for (const std::string& name : FilesOf(path)) {
    if (name == "dump.json" || name == "debug.json") return false;
    found = found || base::Extension(name) == ".safetensors" || IsTorchName(name) ||
            name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json");
  }
  return found;
}

Result<Checkpoint> LoadCheckpoint(const std::string& path) {
  if (IsDistributed(path)) return RefuseDistributed(path);
  Result<Checkpoint> out = !base::IsDirectory(path) ? LoadFile(path)
                           : IsMegatronFolder(path) ? LoadMegatron(path)
                                                    : LoadFolder(path);
  SONDE_RETURN_IF_ERROR(out.status());
  if (out->tensors.empty()) {
    return base::FailedPreconditionError(
        Concat(path, " holds no tensor that can be compared",
               out->left_out.empty() ? std::string() : Concat(": ", out->left_out.front())));
  }
  std::stable_sort(
      out->tensors.begin(), out->tensors.end(),
      [](const NamedTensor& a, const NamedTensor& b) { return NaturallyBefore(a.name, b.name); });
  return out;
}

}  // namespace sonde::precision
