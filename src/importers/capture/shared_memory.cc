#include "importers/capture/shared_memory.h"

#include <array>
#include <utility>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/common/kernel_name.h"
#include "store/collectives.h"

namespace sonde::importers::capture_import {
namespace {

// Bytes of an element, by the type's name in C++.
int64_t ElementBytes(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 10> kBytes = {
      {{"float", 4},
       {"double", 8},
       {"c10::BFloat16", 2},
       {"c10::Half", 2},
       {"long int", 8},
       {"int", 4},
       {"short int", 2},
       {"signed char", 1},
       {"unsigned char", 1},
       {"bool", 1}}};
  for (const auto& [name, bytes] : kBytes) {
    if (type == name) return bytes;
  }
  return -1;
}

}  // namespace

std::string_view SharedMemoryCollective(std::string_view name) {
  return name.starts_with("_C::shm_") ? store::OperatorCollective(name) : std::string_view();
}

Payload PayloadOf(std::string_view shapes, std::string_view types) {
  const std::vector<std::string_view> all_shapes = base::Split(shapes, ';');
  const std::vector<std::string_view> all_types = base::Split(types, ';');
  for (size_t i = 0; i < all_shapes.size() && i < all_types.size(); ++i) {
    const int64_t element = ElementBytes(all_types[i]);
    if (element < 0 || all_shapes[i].empty()) continue;
    int64_t count = 1;
    for (const std::string_view size : base::Split(all_shapes[i], ',')) {
      count *= base::ParseInt64(size).value_or(0);
    }
    return {.bytes = count * element, .count = count, .data_type = all_types[i]};
  }
  return {};
}

std::vector<uint32_t> SharedMemoryOps(const Dictionary& dictionary) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 1; id < dictionary.names.size(); ++id) {
    if (!SharedMemoryCollective(dictionary.Name(id)).empty()) ids.push_back(id);
  }
  return ids;
}

std::vector<SharedMemoryGroup> SharedMemoryGroups(const Dictionary& dictionary) {
  std::vector<SharedMemoryGroup> groups;
  for (const MetadataEntry& entry : dictionary.metadata) {
    if (dictionary.Name(entry.key) != "shared_memory_groups") continue;
    groups.clear();  // a later value replaces the one before
    const auto document = base::JsonDocument::Parse(entry.json, "shared_memory_groups");
    if (!document.ok()) continue;
    for (const base::JsonValue& value : document->root().Elements()) {
      SharedMemoryGroup group;
      group.name = value["name"].AsString().value_or(std::string());
      for (const base::JsonValue& rank : value["ranks"].Elements()) {
        group.ranks.push_back(rank.AsInt().value_or(-1));
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

const SharedMemoryGroup* GroupFor(const std::vector<SharedMemoryGroup>& groups,
                                  bool is_point_to_point) {
  const std::string_view kind = is_point_to_point ? "pp" : "tp";
  for (const SharedMemoryGroup& group : groups) {
    if (group.name.starts_with(kind)) return &group;
  }
  return groups.size() == 1 ? &groups.front() : nullptr;
}

}  // namespace sonde::importers::capture_import
