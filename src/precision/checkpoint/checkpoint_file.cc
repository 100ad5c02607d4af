#include "precision/checkpoint/checkpoint_file.h"

#include <memory>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "precision/checkpoint/safetensors_file.h"
#include "precision/checkpoint/torch_state.h"

namespace sonde::precision {
namespace {

Status Read(const base::MappedFile& file, CheckpointFile* out) {
  if (IsSafetensors(file.bytes())) {
    out->is_safetensors = true;
    SONDE_ASSIGN_OR_RETURN(out->tensors, ParseSafetensors(file.bytes(), &out->left_out));
    return Status::Ok();
  }
  SONDE_ASSIGN_OR_RETURN(TorchState state, ReadTorchState(file.bytes()));
  out->tensors = std::move(state.tensors);
  out->left_out = std::move(state.left_out);
  out->settings = std::move(state.settings);
  out->other_values = state.other_values;
  return Status::Ok();
}

}  // namespace

Result<CheckpointFile> OpenCheckpointFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::Open(path));
  const auto file = std::make_shared<base::MappedFile>(std::move(mapped));
  CheckpointFile out;
  if (Status status = Read(*file, &out); !status.ok()) return std::move(status).Annotate(path);
  for (NamedTensor& named : out.tensors) {
    if (named.name.empty()) {  // a file that is one tensor
      const std::string_view name = base::BaseName(path);
      named.name = name.substr(0, name.size() - base::Extension(path).size());
    }
    named.tensor.HoldFile(file);
  }
  return out;
}

}  // namespace sonde::precision
