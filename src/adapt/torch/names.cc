#include "adapt/torch/names.h"

#include <algorithm>
#include <string_view>

#include "adapt/torch/collectives.h"
#include "base/hash.h"
#include "capture/compiled_code.h"
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
  const bool may_differ = !schema && scope == kScopeUser;
  const uint32_t id = may_differ ? sonde_name_once(text, length) : sonde_intern(text, length);
  NameInfo info = {id, RecordKind::kOp, 0};
  if (schema) {
    const int row = CollectiveOperator(name);
    if (row >= 0) {
      info.kind = RecordKind::kCollective;
      info.detail = static_cast<uint8_t>(row);
    }
    return info;
  }
  info.kind = KindOfText(name, scope);
  if (scope == kScopeUser && name.starts_with(capture::kCompiledGraphRange)) {
    info.detail = kCompiledGraph;
  }
  const Collective work = CollectiveWorkKind(name);
  if (scope == kScopeUser && work != Collective::kNone) {
    info.kind = RecordKind::kCollectiveWork;
    info.detail = static_cast<uint8_t>(work);
  }
  return info;
}

NameInfo NameCache::Text(const char* text, size_t length, bool schema, uint8_t scope) {
  const uint64_t seed = (uint64_t{scope} << 1) | static_cast<uint64_t>(schema);
  const uint64_t identity = base::HashBytes(text, length, seed);
  Line& line = texts_[identity % kTextLines];
  for (const Slot& slot : line.slots) {
    if (slot.identity == identity) [[likely]] {
      return slot.info;
    }
  }
  return Add(&line, identity, ClassifyName(text, length, schema, scope));
}

// The oldest name is replaced.
NameInfo NameCache::Add(Line* line, uint64_t identity, NameInfo info) {
  std::copy_backward(line->slots, line->slots + kWays - 1, line->slots + kWays);
  line->slots[0] = {identity, info};
  return info;
}

}  // namespace sonde::adapt
