#include "store/collectives.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/yaml_file.h"
#include "base/strings.h"

namespace sonde::store {
namespace {

using base::Concat;
using base::YamlNode;

struct ListedCollective {
  std::string_view name;
  std::string_view type;
};
#define FITS(kernel, type)
#define NEVER(kernel)
#define OPERATOR(name, type)
#define KERNEL(part, type) ListedCollective{part, type},
constexpr ListedCollective kKernels[] = {
#include "store/collectives.inc"
};
#undef KERNEL
#undef OPERATOR
#define KERNEL(part, type)
#define OPERATOR(name, type) ListedCollective{name, type},
constexpr ListedCollective kOperators[] = {
#include "store/collectives.inc"
};
#undef KERNEL
#undef OPERATOR
#undef FITS
#undef NEVER

Status AddNamed(const YamlNode& node, std::string_view where, std::vector<Collective>& list) {
  for (const YamlNode::Member& member : node.members) {
    const std::string& type = member.value.text;
    const bool is_word = !type.empty() && std::all_of(type.begin(), type.end(),
                                                      [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_word) {
      return base::InvalidArgumentError(
          Concat(where, ": '", member.name, "' needs a type in small letters, such as allreduce"));
    }
    list.push_back({member.name, type});
  }
  return {};
}

// What must not fit stands before what would.
Status AddOfUser(const YamlNode& root, const std::string& path, Collectives& all) {
  if (const YamlNode* never = root.Find("never"); never != nullptr) {
    for (const YamlNode& item : never->items) all.kernels.push_back({base::ToLower(item.text), ""});
  }
  for (const YamlNode::Member& part : root.members) {
    if (part.name == "kernels") {
      SONDE_RETURN_IF_ERROR(AddNamed(part.value, path, all.kernels));
    } else if (part.name == "operators") {
      SONDE_RETURN_IF_ERROR(AddNamed(part.value, path, all.operators));
    } else if (part.name != "never") {
      return base::InvalidArgumentError(
          Concat(path, ": '", part.name, "' is not known: kernels, operators and never are"));
    }
  }
  for (Collective& kernel : all.kernels) kernel.name = base::ToLower(kernel.name);
  return {};
}

// The file is the user's choice for the whole process, as the variable is.
const Result<Collectives>& OfThisProcess() {
  static const Result<Collectives> all = [] {
    const char* path = std::getenv("SONDE_COLLECTIVES");  // NOLINT(concurrency-mt-unsafe)
    return ReadCollectives(path == nullptr ? "" : path);
  }();
  return all;
}

}  // namespace

Result<Collectives> ReadCollectives(const std::string& path) {
  Collectives all;
  if (!path.empty()) {
    SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, size_t{1} << 20U));
    SONDE_ASSIGN_OR_RETURN(const YamlNode root, base::ParseYaml(text, path));
    SONDE_RETURN_IF_ERROR(AddOfUser(root, path, all));
    all.stamp = base::HashString(text);
  }
  for (const ListedCollective& one : kKernels) {
    all.kernels.push_back({std::string(one.name), std::string(one.type)});
  }
  for (const ListedCollective& one : kOperators) {
    all.operators.push_back({std::string(one.name), std::string(one.type)});
  }
  return all;
}

Status CheckCollectives() {
  Status status = OfThisProcess().status();
  if (!status.ok()) status.Annotate("SONDE_COLLECTIVES");
  return status;
}

const Collectives& KnownCollectives() {
  static const Result<Collectives> listed = ReadCollectives("");
  return OfThisProcess().ok() ? *OfThisProcess() : *listed;
}

std::string_view OperatorCollective(std::string_view name) {
  for (const Collective& known : KnownCollectives().operators) {
    if (known.name == name) return known.type;
  }
  return {};
}

}  // namespace sonde::store
