#include "precision/checkpoint/checkpoint_file.h"

#include <memory>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "precision/checkpoint/safetensors_file.h"
#include "precision/checkpoint/torch_state.h"

namespace sonde::precision {

Result<CheckpointFile> ReadCheckpointFile(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return base::CorruptDataError("the file is empty");
  if (text.starts_with("version https://git-lfs")) {
    return base::CorruptDataError("a Git LFS pointer instead of the file (run git lfs pull)");
  }
  CheckpointFile out;
  if (IsSafetensors(bytes) || base::Extension(name) == ".safetensors") {
    out.is_safetensors = true;
    SONDE_ASSIGN_OR_RETURN(out.tensors, ParseSafetensors(bytes, &out.left_out));
    return out;
  }
  SONDE_ASSIGN_OR_RETURN(TorchState state, ReadTorchState(bytes));
  out.tensors = std::move(state.tensors);
  out.left_out = std::move(state.left_out);
  out.settings = std::move(state.settings);
  out.other_values = state.other_values;
  return out;
}

Result<CheckpointFile> OpenCheckpointFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::Open(path));
  const auto file = std::make_shared<base::MappedFile>(std::move(mapped));
  Result<CheckpointFile> out = ReadCheckpointFile(file->bytes(), path);
  if (!out.ok()) return std::move(out).status().Annotate(path);
  for (NamedTensor& named : out->tensors) {
    if (named.name.empty()) {  // a file that is one tensor
      const std::string_view name = base::BaseName(path);
      named.name = name.substr(0, name.size() - base::Extension(path).size());
    }
    named.tensor.HoldFile(file);
  }
  return out;
}

}  // namespace sonde::precision
