#include "precision/tensor/pickle_rebuild.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;
using Kind = PickleValue::Kind;

constexpr std::string_view kFromType = "torch._tensor _rebuild_from_type_v2";

bool IsInt(PicklePtr value) { return value->kind == Kind::kInt; }

// A tuple or list of integers.
bool TakeInts(PicklePtr value, std::vector<int64_t>* out) {
  if (value->kind != Kind::kTuple && value->kind != Kind::kList) return false;
  for (PicklePtr item : value->items) {
    if (!IsInt(item)) return false;
    out->push_back(item->number);
  }
  return true;
}

Result<PicklePtr> RebuildTensor(const std::vector<PicklePtr>& args, bool names_dtype,
                                PicklePool* pool) {
  // (storage, offset, size, stride, [requires_grad, hooks, [dtype, metadata]])
  const PicklePtr out = pool->Make(Kind::kTensor);
  TensorRecord tensor;
  const bool shaped = args.size() >= 4 && args[0]->kind == Kind::kStorage && IsInt(args[1]) &&
                      TakeInts(args[2], &tensor.shape) && TakeInts(args[3], &tensor.strides);
  if (!shaped) return CorruptDataError("a tensor is described wrongly");
  pool->CountCopies(tensor.shape.size() + tensor.strides.size() + args[0]->storage->key.size() / 8);
  tensor.storage = *args[0]->storage;
  if (__builtin_add_overflow(args[1]->number, tensor.storage.view_offset, &tensor.offset)) {
    return CorruptDataError("a tensor begins beyond its storage");
  }
  std::optional<Dtype> dtype = tensor.storage.dtype;
  if (names_dtype) {
    if (args.size() < 7 || args[6]->kind != Kind::kGlobal || !args[6]->text.starts_with("torch ")) {
      return CorruptDataError("a tensor without dtype");
    }
    const std::string name = args[6]->text.substr(6);
    dtype = DtypeFromTorchName(name);
    if (!dtype) return base::UnimplementedError(Concat("tensors of dtype torch.", name));
  }
  if (!dtype) return CorruptDataError("a tensor of an untyped storage names no dtype");
  tensor.dtype = *dtype;
  out->tensor = std::make_unique<TensorRecord>(std::move(tensor));
  return out;
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view known : names) {
    if (name == known) return true;
  }
  return false;
}

PicklePtr MakeObject(const std::string& made_by, std::vector<PicklePtr> parts, PicklePool* pool) {
  pool->CountCopies(made_by.size() / 8 + parts.size());
  const PicklePtr out = pool->Make(Kind::kObject);
  out->text = made_by;
  out->parts = std::move(parts);
  return out;
}

// torch._tensor._rebuild_from_type_v2(function, type, arguments, state)
Result<PicklePtr> RebuildFromType(const std::vector<PicklePtr>& args, PicklePool* pool,
                                  PickleRules rules) {
  if (args.size() < 3 || args[1]->kind != Kind::kGlobal ||
      !IsOneOf(args[1]->text,
               {"torch Tensor", "torch.nn.parameter Parameter", "torch._tensor Tensor"})) {
    if (rules == PickleRules::kOneTensor) return base::UnimplementedError("a subclass of Tensor");
    if (args.size() < 2) return CorruptDataError("a subclass of Tensor without its name");
    const PicklePtr out = MakeObject(args[1]->text, {args.begin() + 2, args.end()}, pool);
    if (args.size() > 3) BuildObject(out, args[3], pool);
    return out;
  }
  // Wrapped once: a file that wraps the wrapper itself would nest without end.
  const PicklePtr function = args[0];
  if (function->text == kFromType) return CorruptDataError("a wrapper around a wrapper");
  return RebuildPickled(function, args[2], pool, rules);
}

}  // namespace

void BuildObject(PicklePtr object, PicklePtr state, PicklePool* pool) {
  if (object->kind != Kind::kObject) return;  // hooks of tensors, versions of dicts
  if (state->kind == Kind::kDict) {
    pool->CountCopies(state->items.size());
    object->items.insert(object->items.end(), state->items.begin(), state->items.end());
  } else if (state->kind == Kind::kTuple && state->items.size() == 2) {
    for (const PicklePtr half : state->items) {
      if (half->kind == Kind::kDict) BuildObject(object, half, pool);
    }
  } else {
    object->parts.push_back(state);
  }
}

Result<PicklePtr> RebuildPickled(PicklePtr function, PicklePtr arguments, PicklePool* pool,
                                 PickleRules rules) {
  const bool any = rules == PickleRules::kAnyData;
  if (any && function->kind == Kind::kObject) return MakeObject(function->text, {arguments}, pool);
  if (function->kind != Kind::kGlobal || arguments->kind != Kind::kTuple) {
    return CorruptDataError("a call of something that is no function");
  }
  const std::string& name = function->text;
  const std::vector<PicklePtr>& args = arguments->items;
  if (IsOneOf(name, {"torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor",
                     "torch_npu.utils.storage _rebuild_npu_tensor"})) {
    return RebuildTensor(args, false, pool);
  }
  if (name == "torch._utils _rebuild_tensor_v3") return RebuildTensor(args, true, pool);
  if (IsOneOf(name,
              {"torch._utils _rebuild_parameter", "torch._utils _rebuild_parameter_with_state"})) {
    if (args.empty() || args[0]->kind != Kind::kTensor) {
      return CorruptDataError("a parameter without tensor");
    }
    return args[0];
  }
  if (name == kFromType) return RebuildFromType(args, pool, rules);
  if (name == "collections OrderedDict") return pool->Make(Kind::kDict);
  if (any && name == "collections defaultdict") return pool->Make(Kind::kDict);
  if (name == "torch Size") {
    if (args.size() != 1) return CorruptDataError("a size of no numbers");
    return args[0];
  }
  if (any) return MakeObject(name, args, pool);
  return base::UnimplementedError(
      Concat("the file calls '", name, "', which does not belong to a tensor"));
}

Result<PicklePtr> ReadStorageId(PicklePtr id, PicklePool* pool) {
  // ("storage", class, key, location, count[, view])
  const auto& items = id->items;
  if (id->kind != Kind::kTuple || items.size() < 5 || items[0]->text != "storage" ||
      items[1]->kind != Kind::kGlobal || items[2]->kind != Kind::kText || !IsInt(items[4])) {
    return CorruptDataError("a storage is described wrongly");
  }
  StorageRecord storage;
  const std::string& type = items[1]->text;
  const std::string_view name = std::string_view(type).substr(type.find(' ') + 1);
  if (!type.starts_with("torch")) {
    return base::UnimplementedError(Concat("a storage of type '", type, "'"));
  }
  storage.dtype = DtypeFromStorageName(name);
  if (!storage.dtype && name != "UntypedStorage" && name != "TypedStorage") {
    return base::UnimplementedError(Concat("a storage of type '", type, "'"));
  }
  storage.key = items[2]->text;
  storage.element_count = items[4]->number;
  // Legacy files may name a view: (key of the view, first element, length).
  if (items.size() > 5 && items[5]->kind == Kind::kTuple) {
    const auto& view = items[5]->items;
    if (view.size() != 3 || !IsInt(view[1])) return CorruptDataError("a view is described wrongly");
    storage.view_offset = view[1]->number;
  }
  const PicklePtr out = pool->Make(Kind::kStorage);
  out->storage = std::make_unique<StorageRecord>(std::move(storage));
  return out;
}

}  // namespace sonde::precision
