// Layer mapping (-lm): which call of one program is which of the other, by their places in the
// module tree.
//
// The file lists, by class of the target, the children that are named otherwise on the other side:
//
//   TopLayer:
//     module: model
//   GPTModel:
//     language_model.embedding: embedding
//
// Calls match when their mapped module paths, direction and call number are equal; an API matches
// the API of the same short name that comes at the same position among those of its module call.
// Backward calls stand where their forward calls stand.
// Threads: read-only after loading; the functions are pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "precision/compare/pairing.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"
#include "precision/mapping/mapping_use.h"

namespace sonde::precision {

class LayerMapping {
 public:
  LayerMapping() = default;  // equal names only
  static Result<LayerMapping> Load(const std::string& path);

  using Names = std::unordered_map<std::string, std::string, base::StringHash, std::equal_to<>>;
  // Target call name -> golden call name, for the calls of both dumps and their trees. `use` learns
  // which lines of the file had an effect; may be null.
  Names MatchCalls(const DumpFile& target, const ConstructFile& target_tree, const DumpFile& golden,
                   const ConstructFile& golden_tree, MappingUse* use = nullptr) const;

  // The value of class `name` for a child path; see the file's format.
  struct Child {
    std::string name;
    std::string other;
    std::string line;  // for the user
  };
  using Children = std::vector<Child>;
  const Children* ChildrenOf(std::string_view class_name) const;

 private:
  std::map<std::string, Children, std::less<>> classes_;
};

// Rows of matched calls: by their suffix, parameters by what they are (parameter_pairs.h). Listed
// as pairs of full names in target order; "N/A" where the golden dump has no such row.
std::vector<std::pair<std::string, std::string>> DataPairsOf(const LayerMapping::Names& calls,
                                                             const DumpFile& target,
                                                             const DumpFile& golden);

}  // namespace sonde::precision
