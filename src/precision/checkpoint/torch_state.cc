#include "precision/checkpoint/torch_state.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/strings.h"
#include "precision/tensor/torch_container.h"

namespace sonde::precision {
namespace {

using base::Concat;
using PickleKind = PickleValue::Kind;

constexpr size_t kMostNesting = 200;
constexpr size_t kMaxVisits = 16'000'000;
constexpr size_t kMaxTensors = 4'000'000;
constexpr size_t kNameBytesOfAVisit = 64;  // longer names count for several

bool IsInnerName(std::string_view key) {
  return key == "_modules" || key == "_parameters" || key == "_buffers" || key == "_local_tensor";
}

std::string PlainKeyText(const PickleValue& key) {
  switch (key.kind) {
    case PickleKind::kText:
      return key.text;
    case PickleKind::kInt:
    case PickleKind::kBool:
      return std::to_string(key.number);
    default:
      return "?";
  }
}

// Tuples of plain values, but no tuples of tuples: what a file nests may have no end.
std::string KeyText(const PickleValue& key) {
  if (key.kind != PickleKind::kTuple) return PlainKeyText(key);
  std::vector<std::string> parts;
  for (const PicklePtr part : key.items) parts.push_back(PlainKeyText(*part));
  return base::Join(parts, ",");
}

// Walks an object that may refer to itself.
class Walk {
 public:
  explicit Walk(const TorchContainer& file) : file_(file) {}

  Status Visit(PicklePtr value, const std::string& name) {
    visits_ += 1 + name.size() / kNameBytesOfAVisit;
    if (visits_ > kMaxVisits || out_.tensors.size() + out_.left_out.size() > kMaxTensors) {
      return base::CorruptDataError("too many values for a checkpoint");
    }
    switch (value->kind) {
      case PickleKind::kTensor:
        AddTensor(*value, name);
        return Status::Ok();
      case PickleKind::kDict:
      case PickleKind::kObject:
      case PickleKind::kTuple:
      case PickleKind::kList:
        return VisitInside(value, name);
      case PickleKind::kStorage:
        out_.left_out.push_back(Concat(name, ": a storage without a tensor"));
        return Status::Ok();
      default:
        ++out_.other_values;
        return Status::Ok();
    }
  }

  TorchState Take() { return std::move(out_); }

 private:
  void AddTensor(const PickleValue& value, const std::string& name) {
    Result<Tensor> tensor = file_.OpenTensor(*value.tensor);
    if (tensor.ok()) {
      out_.tensors.push_back({name, *std::move(tensor)});
    } else {
      out_.left_out.push_back(Concat(name, ": ", tensor.status().message()));
    }
  }

  Status VisitInside(PicklePtr value, const std::string& name) {
    // Once on the way down: what holds itself has no end.
    if (depth_ >= kMostNesting || !above_.insert(value).second) return Status::Ok();
    ++depth_;
    Status status = value->kind == PickleKind::kDict || value->kind == PickleKind::kObject
                        ? VisitMembers(value, name)
                        : VisitItems(value->items, name);
    if (status.ok() && value->kind == PickleKind::kObject) AddUnreadable(*value, name);
    --depth_;
    above_.erase(value);
    return status;
  }

  Status VisitMembers(PicklePtr value, const std::string& name) {
    for (size_t i = 0; i + 1 < value->items.size(); i += 2) {
      const std::string key = KeyText(*value->items[i]);
      SONDE_RETURN_IF_ERROR(Visit(value->items[i + 1], IsInnerName(key) ? name : Below(name, key)));
    }
    return Status::Ok();
  }

  Status VisitItems(const std::vector<PicklePtr>& items, const std::string& name) {
    for (size_t i = 0; i < items.size(); ++i) {
      SONDE_RETURN_IF_ERROR(Visit(items[i], Below(name, std::to_string(i))));
    }
    return Status::Ok();
  }

  // Values inside something that only torch can put together: sparse, quantized, numpy's.
  void AddUnreadable(const PickleValue& object, const std::string& name) {
    constexpr int kDeep = 3;  // a sparse tensor has them in a tuple among its parts
    if (HasValues(object.parts, kDeep)) {
      out_.left_out.push_back(Concat(name, ": values inside ", object.text));
    }
  }

  static bool HasValues(const std::vector<PicklePtr>& parts, int depth) {
    constexpr size_t kLooked = 16;  // many objects may share one long tuple
    const auto end = parts.begin() + static_cast<ptrdiff_t>(std::min(parts.size(), kLooked));
    return std::any_of(parts.begin(), end, [depth](PicklePtr part) {
      return part->kind == PickleKind::kTensor || part->kind == PickleKind::kStorage ||
             (part->kind == PickleKind::kTuple && depth > 0 && HasValues(part->items, depth - 1));
    });
  }

  static std::string Below(const std::string& name, const std::string& key) {
    return name.empty() ? key : Concat(name, ".", key);
  }

  const TorchContainer& file_;
  TorchState out_;
  std::unordered_set<PicklePtr> above_;
  size_t depth_ = 0;
  size_t visits_ = 0;
};

std::map<std::string, int64_t> SettingsOf(PicklePtr root) {
  std::map<std::string, int64_t> out;
  const PicklePtr args = FindMember(root, "args");
  if (args == nullptr) return out;
  for (size_t i = 0; i + 1 < args->items.size(); i += 2) {
    const PickleValue& value = *args->items[i + 1];
    if (value.kind == PickleKind::kInt || value.kind == PickleKind::kBool) {
      out[KeyText(*args->items[i])] = value.number;
    }
  }
  return out;
}

}  // namespace

Result<TorchState> ReadTorchState(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SONDE_ASSIGN_OR_RETURN(const TorchContainer file,
                         TorchContainer::Open(text, PickleRules::kAnyData));
  Walk walk(file);
  SONDE_RETURN_IF_ERROR(walk.Visit(file.root(), ""));
  TorchState out = walk.Take();
  out.settings = SettingsOf(file.root());
  return out;
}

}  // namespace sonde::precision
