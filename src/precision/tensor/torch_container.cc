#include "precision/tensor/torch_container.h"

#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;
using base::LoadLe;

// 0x1950a86a20f9469cfc6c, little endian, as the first pickle of the older container holds it.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

bool IsLegacy(std::string_view file) {
  // PROTO 2, LONG1 of ten bytes, the number.
  return file.size() > 14 && file.starts_with("\x80\x02\x8a\x0a") &&
         file.substr(4, kLegacyMagic.size()) == kLegacyMagic;
}

}  // namespace

Status TorchContainer::OpenZip(std::string_view file, PickleRules rules) {
  zip_ = std::make_unique<StoredZip>(file);
  SONDE_RETURN_IF_ERROR(zip_->Open());
  if (zip_->Has("byteorder")) {
    SONDE_ASSIGN_OR_RETURN(const std::string_view order, zip_->Find("byteorder"));
    if (order != "little") {
      return base::UnimplementedError(Concat("byte order '", order.substr(0, 16), "'"));
    }
  }
  SONDE_ASSIGN_OR_RETURN(const std::string_view pickle, zip_->Find("data.pkl"));
  size_t consumed = 0;
  SONDE_ASSIGN_OR_RETURN(root_, ReadPickle(pickle, pool_.get(), &consumed, rules));
  return Status::Ok();
}

// Magic number, protocol, machine, object, keys: five pickles; then for each key the number of
// elements (8 bytes) and the elements.
Status TorchContainer::OpenLegacy(std::string_view file, PickleRules rules) {
  std::vector<PicklePtr> parts;
  for (int i = 0; i < 5; ++i) {
    size_t consumed = 0;
    SONDE_ASSIGN_OR_RETURN(const PicklePtr part, ReadPickle(file, pool_.get(), &consumed, rules));
    parts.push_back(part);
    file.remove_prefix(consumed);
  }
  root_ = parts[3];
  return FindStorages(file, *parts[4]);
}

Status TorchContainer::FindStorages(std::string_view rest, const PickleValue& keys) {
  std::unordered_map<std::string_view, size_t> sizes;  // bytes of an element, by key
  for (const PickleValue& value : pool_->values()) {
    if (value.storage && value.storage->dtype) {
      sizes.emplace(value.storage->key, DtypeSize(*value.storage->dtype));
    }
  }
  for (const PicklePtr key : keys.items) {
    const auto size = sizes.find(key->text);
    if (size == sizes.end()) return CorruptDataError("a storage that no tensor names");
    if (rest.size() < 8) return CorruptDataError("the storages end too early");
    const auto count = LoadLe<uint64_t>(rest.data());
    rest.remove_prefix(8);
    if (count > rest.size() / size->second) {
      return CorruptDataError("a storage reaches beyond the file");
    }
    storages_.emplace(key->text, rest.substr(0, count * size->second));
    rest.remove_prefix(count * size->second);
  }
  return Status::Ok();
}

Result<TorchContainer> TorchContainer::Open(std::string_view file, PickleRules rules) {
  TorchContainer out;
  SONDE_RETURN_IF_ERROR(IsLegacy(file) ? out.OpenLegacy(file, rules) : out.OpenZip(file, rules));
  return out;
}

Result<Tensor> TorchContainer::OpenTensor(const TensorRecord& record) const {
  std::string_view storage;
  if (zip_ != nullptr) {
    SONDE_ASSIGN_OR_RETURN(storage, zip_->Find(Concat("data/", record.storage.key)));
  } else {
    const auto found = storages_.find(record.storage.key);
    if (found == storages_.end()) return CorruptDataError("the storage of the tensor is missing");
    storage = found->second;
  }
  return Tensor::Make(record.dtype, record.shape, record.strides, record.offset,
                      std::as_bytes(std::span(storage)));
}

}  // namespace sonde::precision
