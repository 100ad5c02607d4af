#include "adapt/torch/names.h"

#include <algorithm>
#include <string_view>

#include "adapt/torch/collectives.h"
#include "base/hash.h"
#include "sonde/sonde.h"

namespace sonde::adapt {

using capture::RecordKind;

namespace {

RecordKind KindOfText(std::string_view name, uint8_t scope) {
  if (scope == kScopeBackward) return RecordKind::kBackwardNode;
  if (name.starts_with("Optimizer.")) return RecordKind::kOptimizer;
  if (name.starts_with("enumerate(DataLoader)")) return RecordKind::kDataLoader;
  if (name.starts_with("Torch-Compiled Region")) return RecordKind::kCompiledRegion;
  return scope == kScopeUser ? RecordKind::kUserScope : RecordKind::kFrameworkRange;
}

}  // namespace

NameInfo ClassifyName(const char* text, size_t length, bool schema, uint8_t scope) {
  const std::string_view name(text, length);
  NameInfo info = {sonde_intern(text, length), RecordKind::kOp, 0};
  if (schema) {
    const int row = CollectiveOperator(name);
    if (row >= 0) {
      info.kind = RecordKind::kCollective;
      info.detail = static_cast<uint8_t>(row);
    }
    return info;
  }
  info.kind = KindOfText(name, scope);
  const Collective work = CollectiveWorkKind(name);
  if (scope == kScopeUser && work != Collective::kNone) {
    info.kind = RecordKind::kCollectiveWork;
    info.detail = static_cast<uint8_t>(work);
  }
  return info;
}

NameInfo NameCache::AddSchema(SchemaSlot* slot, const void* schema, const char* text,
                              size_t length) {
  slot->info = ClassifyName(text, length, true, kScopeFunction);
  slot->schema = schema;
  slot->text = text;
  slot->length = length;
  slot->tail = Tail(text, length);
  return slot->info;
}

NameInfo NameCache::Text(const char* text, size_t length, bool schema, uint8_t scope) {
  const uint64_t hash = base::HashBytes(text, length);
  TextSlot& slot = texts_[hash % kTextSlots];
  const size_t compared = std::min(length, kTextCopy);
  if (slot.hash == hash && slot.length == length && slot.scope == scope &&
      slot.schema == static_cast<uint8_t>(schema) && std::memcmp(slot.text, text, compared) == 0)
      [[likely]] {
    return slot.info;
  }
  slot.info = ClassifyName(text, length, schema, scope);
  slot.hash = hash;
  slot.length = static_cast<uint32_t>(length);
  slot.scope = scope;
  slot.schema = static_cast<uint8_t>(schema);
  std::memcpy(slot.text, text, compared);
  return slot.info;
}

}  // namespace sonde::adapt
