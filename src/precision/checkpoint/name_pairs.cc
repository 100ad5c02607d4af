#include "precision/checkpoint/name_pairs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr size_t kMostPrefixParts = 4;  // components of a prefix

std::vector<std::string> NamesOf(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> out;
  out.reserve(tensors.size());
  // torch.compile() puts this anywhere; a module that runs is the one inside.
  for (const NamedTensor& named : tensors) {
    out.push_back(base::ReplaceAll(named.name, "_orig_mod.", ""));
  }
  return out;
}

// Beginnings that a quarter of the names have, and none at all.
std::vector<std::string> PrefixesOf(const std::vector<std::string>& names) {
  std::map<std::string, size_t> counts;
  for (const std::string& name : names) {
    size_t at = 0;
    for (size_t depth = 0; depth < kMostPrefixParts; ++depth) {
      at = name.find('.', at);
      if (at == std::string::npos) break;
      ++counts[name.substr(0, ++at)];
    }
  }
  std::vector<std::string> out = {""};
  for (const auto& [prefix, count] : counts) {
    if (count * 4 >= names.size()) out.push_back(prefix);
  }
  return out;
}

std::string_view Without(std::string_view name, const std::string& prefix) {
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

using NamePlaces = std::unordered_map<std::string_view, size_t>;

NamePlaces NamePlacesOf(const std::vector<std::string>& names, const std::string& prefix) {
  NamePlaces out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace(Without(names[i], prefix), i);
  return out;
}

size_t CountMatches(const std::vector<std::string>& names, const std::string& prefix,
                    const NamePlaces& places) {
  return static_cast<size_t>(std::count_if(
      names.begin(), names.end(),
      [&](const std::string& name) { return places.contains(Without(name, prefix)); }));
}

struct Prefixes {
  std::string target;
  std::string golden;
};

// Fewest components that are taken away win where several match as many.
Prefixes BestPrefixes(const std::vector<std::string>& target,
                      const std::vector<std::string>& golden) {
  Prefixes best;
  size_t most = 0;
  for (const std::string& golden_prefix : PrefixesOf(golden)) {
    const NamePlaces places = NamePlacesOf(golden, golden_prefix);
    for (const std::string& target_prefix : PrefixesOf(target)) {
      const size_t matches = CountMatches(target, target_prefix, places);
      const size_t taken = golden_prefix.size() + target_prefix.size();
      const size_t taken_by_best = best.golden.size() + best.target.size();
      if (matches > most || (matches == most && taken < taken_by_best)) {
        most = matches;
        best = {target_prefix, golden_prefix};
      }
    }
  }
  return best;
}

}  // namespace

NamePairs PairNames(const std::vector<NamedTensor>& target,
                    const std::vector<NamedTensor>& golden) {
  const std::vector<std::string> target_names = NamesOf(target);
  const std::vector<std::string> golden_names = NamesOf(golden);
  const Prefixes prefixes = BestPrefixes(target_names, golden_names);
  NamePairs out;
  if (!prefixes.target.empty()) {
    out.notes.push_back(Concat("names of the target are compared without '", prefixes.target, "'"));
  }
  if (!prefixes.golden.empty()) {
    out.notes.push_back(
        Concat("names of the golden checkpoint are compared without '", prefixes.golden, "'"));
  }
  const NamePlaces places = NamePlacesOf(target_names, prefixes.target);
  std::vector<bool> met(target.size(), false);
  for (size_t i = 0; i < golden.size(); ++i) {
    const auto found = places.find(Without(golden_names[i], prefixes.golden));
    if (found == places.end() || met[found->second]) {
      out.golden_only.push_back(i);
      continue;
    }
    met[found->second] = true;
    out.both.emplace_back(found->second, i);
  }
  for (size_t i = 0; i < target.size(); ++i) {
    if (!met[i]) out.target_only.push_back(i);
  }
  return out;
}

}  // namespace sonde::precision
