// Small YAML files of the user: mappings, thresholds, calibration. Only plain values, lists and
// maps with text keys; order is kept.
//
// Errors: Status that names the file, and the line where the parser knows it. Threads: values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::base {

struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;  // the scalar as written
  std::vector<YamlNode> items;
  struct Member;
  std::vector<Member> members;

  bool IsMap() const { return kind == Kind::kMap; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsText() const { return kind == Kind::kText; }
  // Null when absent.
  const YamlNode* Find(std::string_view key) const;
};

struct YamlNode::Member {
  std::string name;
  YamlNode value;
};

// At most 1 MiB and 100 levels.
Result<YamlNode> ReadYaml(const std::string& path);
Result<YamlNode> ParseYaml(const std::string& text, std::string_view source);

// "key: value" lines, texts quoted where YAML needs it.
std::string YamlOfPairs(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace sonde::base
