// A file of torch.save() that holds one tensor.
#include <string_view>

#include "precision/tensor/tensor_file.h"
#include "precision/tensor/torch_container.h"

namespace sonde::precision {

Result<Tensor> ParseTorchFile(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SONDE_ASSIGN_OR_RETURN(const TorchContainer container,
                         TorchContainer::Open(file, PickleRules::kOneTensor));
  if (container.root()->kind != PickleValue::Kind::kTensor) {
    return base::UnimplementedError("the file does not hold one tensor");
  }
  return container.OpenTensor(*container.root()->tensor);
}

}  // namespace sonde::precision
