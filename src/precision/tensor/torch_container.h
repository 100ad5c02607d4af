// A file of torch.save(), in either container: the object, and tensors on demand.
//
// Nothing in a file is executed (pickle.h). `file` must outlive the container and its tensors.
// Errors: kCorruptData, kUnimplemented. Threads: read-only behind Open().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "precision/tensor/pickle.h"
#include "precision/tensor/stored_zip.h"
#include "precision/tensor/tensor.h"

namespace sonde::precision {

class TorchContainer {
 public:
  static Result<TorchContainer> Open(std::string_view file, PickleRules rules);

  PicklePtr root() const { return root_; }
  // A tensor of the object.
  Result<Tensor> OpenTensor(const TensorRecord& record) const;

 private:
  TorchContainer() : pool_(std::make_unique<PicklePool>()) {}
  Status OpenZip(std::string_view file, PickleRules rules);
  Status OpenLegacy(std::string_view file, PickleRules rules);
  Status FindStorages(std::string_view rest, const PickleValue& keys);

  std::unique_ptr<PicklePool> pool_;
  PicklePtr root_ = nullptr;
  std::unique_ptr<StoredZip> zip_;                              // null: the older container
  std::unordered_map<std::string, std::string_view> storages_;  // of the older container
};

}  // namespace sonde::precision
