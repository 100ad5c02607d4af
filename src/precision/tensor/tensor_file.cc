#include "precision/tensor/tensor_file.h"

#include <memory>

#include "base/strings.h"

namespace sonde::precision {

Result<Tensor> OpenTensorFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::Open(path));
  auto file = std::make_shared<base::MappedFile>(std::move(mapped));
  const bool npy = file->text().starts_with("\x93NUMPY");
  Result<Tensor> tensor = npy ? ParseNpyFile(file->bytes()) : ParseTorchFile(file->bytes());
  if (!tensor.ok()) return std::move(tensor).Annotate(path);
  tensor->HoldFile(std::move(file));
  return tensor;
}

}  // namespace sonde::precision
