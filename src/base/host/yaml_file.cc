#include "base/host/yaml_file.h"

#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::base {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20U;
constexpr int kMostYamlDepth = 100;
// Aliases can make a small file enormous.
constexpr size_t kMaxNodes = 200'000;

Status Convert(const YAML::Node& from, int depth, size_t* nodes, YamlNode* to) {
  if (depth > kMostYamlDepth) return CorruptDataError("nested deeper than 100 levels");
  if (++*nodes > kMaxNodes) return CorruptDataError("more than 200000 values");
  switch (from.Type()) {
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      return Status::Ok();
    case YAML::NodeType::Scalar:
      to->kind = YamlNode::Kind::kText;
      to->text = from.Scalar();
      return Status::Ok();
    case YAML::NodeType::Sequence:
      to->kind = YamlNode::Kind::kList;
      for (const YAML::Node& item : from) {
        SONDE_RETURN_IF_ERROR(Convert(item, depth + 1, nodes, &to->items.emplace_back()));
      }
      return Status::Ok();
    case YAML::NodeType::Map:
      to->kind = YamlNode::Kind::kMap;
      for (const auto& member : from) {
        if (!member.first.IsScalar()) return CorruptDataError("a key is not a text");
        YamlNode::Member& added = to->members.emplace_back();
        added.name = member.first.Scalar();
        SONDE_RETURN_IF_ERROR(Convert(member.second, depth + 1, nodes, &added.value));
      }
      return Status::Ok();
  }
  return Status::Ok();
}

// yaml-cpp reads deep nesting by recursion; brackets and indentation show the depth beforehand.
bool IsTooDeep(std::string_view text) {
  int brackets = 0;
  size_t indent = 0;
  bool at_line_begin = true;
  for (const char c : text) {
    if (c == '\n') {
      at_line_begin = true;
      indent = 0;
      continue;
    }
    if (at_line_begin && (c == ' ' || c == '-' || c == '?')) {
      if (++indent > static_cast<size_t>(kMostYamlDepth) * 16) return true;
      continue;
    }
    at_line_begin = false;
    if (c == '[' || c == '{') ++brackets;
    if (c == ']' || c == '}') --brackets;
    if (brackets > kMostYamlDepth) return true;
  }
  return false;
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

Result<YamlNode> ParseYaml(const std::string& text, std::string_view source) {
  if (IsTooDeep(text)) {
    return CorruptDataError(Concat(source, ": nested deeper than 100 levels"));
  }
  YamlNode out;
  try {
    size_t nodes = 0;
    Status status = Convert(YAML::Load(text), 0, &nodes, &out);
    if (!status.ok()) return std::move(status).Annotate(source);
  } catch (const YAML::Exception& error) {
    return CorruptDataError(
        Concat(source, ": line ", std::to_string(error.mark.line + 1), ": ", error.msg));
  }
  return out;
}

Result<YamlNode> ReadYaml(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  return ParseYaml(text, path);
}

std::string YamlOfPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const auto& [key, value] : pairs) out << YAML::Key << key << YAML::Value << value;
  out << YAML::EndMap;
  return Concat(out.c_str(), "\n");
}

}  // namespace sonde::base
