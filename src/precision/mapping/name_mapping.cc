#include "precision/mapping/name_mapping.h"

#include <algorithm>
#include <array>

#include "base/host/yaml_file.h"
#include "base/strings.h"
#include "precision/mapping/mapping_use.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::InvalidArgumentError;
using base::ReadYaml;
using base::YamlNode;

// MindSpore functions whose counterpart is torch.<name>; all others are torch.nn.functional.<name>.
constexpr std::string_view kTorchFunctions[] = {"abs",
                                                "absolute",
                                                "acos",
                                                "acosh",
                                                "add",
                                                "addbmm",
                                                "addcdiv",
                                                "addcmul",
                                                "addmm",
                                                "addmv",
                                                "angle",
                                                "arange",
                                                "arccos",
                                                "arccosh",
                                                "arcsinh",
                                                "arctan",
                                                "arctanh",
                                                "argmax",
                                                "asin",
                                                "asinh",
                                                "atan",
                                                "atan2",
                                                "atanh",
                                                "baddbmm",
                                                "bartlett_window",
                                                "bincount",
                                                "bitwise_and",
                                                "bitwise_or",
                                                "bitwise_xor",
                                                "blackman_window",
                                                "ceil",
                                                "cholesky_solve",
                                                "clamp",
                                                "clip",
                                                "column_stack",
                                                "cosh",
                                                "cross",
                                                "cumprod",
                                                "diag_embed",
                                                "diagflat",
                                                "diagonal",
                                                "digamma",
                                                "dist",
                                                "div",
                                                "divide",
                                                "einsum",
                                                "equal",
                                                "erf",
                                                "erfc",
                                                "exp",
                                                "exp2",
                                                "expm1",
                                                "eye",
                                                "flip",
                                                "fliplr",
                                                "flipud",
                                                "floor_divide",
                                                "fmax",
                                                "fmod",
                                                "full",
                                                "full_like",
                                                "gcd",
                                                "geqrf",
                                                "greater",
                                                "greater_equal",
                                                "hamming_window",
                                                "hann_window",
                                                "heaviside",
                                                "histc",
                                                "hsplit",
                                                "hstack",
                                                "hypot",
                                                "i0",
                                                "igamma",
                                                "igammac",
                                                "inner",
                                                "inverse",
                                                "isinf",
                                                "isneginf",
                                                "isposinf",
                                                "isreal",
                                                "kaiser_window",
                                                "kron",
                                                "lcm",
                                                "lerp",
                                                "log1p",
                                                "logaddexp",
                                                "logaddexp2",
                                                "logdet",
                                                "logical_and",
                                                "logical_not",
                                                "logical_or",
                                                "logical_xor",
                                                "logit",
                                                "logspace",
                                                "lt",
                                                "lu_solve",
                                                "lu_unpack",
                                                "masked_select",
                                                "matmul",
                                                "mm",
                                                "moveaxis",
                                                "movedim",
                                                "msort",
                                                "mul",
                                                "multiply",
                                                "nan_to_num",
                                                "nansum",
                                                "neg",
                                                "negative",
                                                "nextafter",
                                                "nonzero",
                                                "not_equal",
                                                "ones_like",
                                                "orgqr",
                                                "outer",
                                                "permute",
                                                "polar",
                                                "pow",
                                                "ravel",
                                                "real",
                                                "reciprocal",
                                                "remainder",
                                                "reshape",
                                                "roll",
                                                "rot90",
                                                "round",
                                                "row_stack",
                                                "rsqrt",
                                                "searchsorted",
                                                "sgn",
                                                "sign",
                                                "signbit",
                                                "sin",
                                                "sinc",
                                                "sinh",
                                                "slogdet",
                                                "square",
                                                "subtract",
                                                "sum",
                                                "swapaxes",
                                                "swapdims",
                                                "t",
                                                "tan",
                                                "topk",
                                                "trapz",
                                                "tril",
                                                "tril_indices",
                                                "triu_indices",
                                                "true_divide",
                                                "trunc",
                                                "unbind",
                                                "unsqueeze",
                                                "vander",
                                                "vsplit",
                                                "where",
                                                "xlogy",
                                                "zeros_like"};

struct Renamed {
  std::string_view target;
  std::string_view golden;
};
constexpr Renamed kRenamed[] = {
    {"Functional.dense", "Functional.linear"},   {"Functional.equal", "Torch.eq"},
    {"Functional.swapaxes", "Torch.transpose"},  {"Tensor.equal", "Tensor.eq"},
    {"Tensor.gather_elements", "Tensor.gather"}, {"Tensor.swapaxes", "Tensor.transpose"}};

// Where "Prefix.name" ends in a name; npos when it has no more parts. An operator that a cell holds
// is "Primitive.attribute.Class".
size_t ApiEnd(std::string_view name) {
  const bool is_held = name.starts_with("Primitive.");
  size_t end = name.find('.');
  for (int more = is_held ? 2 : 1; more > 0 && end != std::string_view::npos; --more) {
    end = name.find('.', end + 1);
  }
  return end;
}

bool HasDirection(std::string_view name) {
  return name.find("forward") != std::string_view::npos ||
         name.find("backward") != std::string_view::npos ||
         name.find("parameters_grad") != std::string_view::npos;
}

// Replaces the first occurrence; returns whether there was one.
bool ReplaceFirst(std::string* text, std::string_view from, std::string_view to) {
  const size_t at = from.empty() ? std::string::npos : text->find(from);
  if (at == std::string::npos) return false;
  text->replace(at, from.size(), to);
  return true;
}

Status WrongFile(const std::string& path, std::string_view wanted) {
  return InvalidArgumentError(Concat(path, ": expected ", wanted));
}

bool TakeTexts(const YamlNode* node, std::vector<std::string>* out) {
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) return true;
  if (!node->IsList()) return false;
  for (const YamlNode& item : node->items) {
    if (!item.IsText()) return false;
    out->push_back(item.text);
  }
  return true;
}

}  // namespace

Result<CellMapping> CellMapping::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, ReadYaml(path));
  CellMapping out;
  if (root.kind == YamlNode::Kind::kNull) return out;
  if (!root.IsMap()) return WrongFile(path, "lines 'cell name: module name'");
  for (const auto& [key, value] : root.members) {
    if (!value.IsText()) return WrongFile(path, Concat("a name behind '", key, ":'"));
    out.pairs_.emplace_back(key, value.text);
    out.lines_.push_back(LineText(path, key, value.text));
  }
  return out;
}

std::string CellMapping::Map(std::string_view name, std::vector<size_t>* used) const {
  std::string out(name);
  if (!HasDirection(name)) return out;
  if (name.starts_with("Cell.")) out.replace(0, 4, "Module");
  for (const std::string_view word : {".forward", ".backward", ".parameters_grad"}) {
    const size_t first = out.find('.');
    const size_t end = out.find(word);
    if (first == std::string::npos || end == std::string::npos || end <= first) continue;
    const std::string_view cell = std::string_view(out).substr(first + 1, end - first - 1);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (cell != pairs_[i].first) continue;
      if (used != nullptr) used->push_back(i);
      return out.replace(first + 1, end - first - 1, pairs_[i].second);
    }
  }
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const bool applies = ReplaceFirst(&out, pairs_[i].first, pairs_[i].second);
    if (applies && used != nullptr) used->push_back(i);
  }
  return out;
}

std::string BuiltInApi(std::string_view api) {
  for (const Renamed& renamed : kRenamed) {
    if (renamed.target == api) return std::string(renamed.golden);
  }
  const size_t dot = api.find('.');
  if (dot == std::string_view::npos) return std::string(api);
  const std::string_view prefix = api.substr(0, dot);
  const std::string_view name = api.substr(dot + 1);
  if (prefix == "Mint") return Concat("Torch.", name);
  if (prefix == "MintFunctional") return Concat("Functional.", name);
  if (prefix == "Functional" && std::find(std::begin(kTorchFunctions), std::end(kTorchFunctions),
                                          name) != std::end(kTorchFunctions)) {
    return Concat("Torch.", name);
  }
  return std::string(api);
}

Result<ApiMapping> ApiMapping::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, ReadYaml(path));
  if (!root.IsList()) return WrongFile(path, "a list of items with ms_api and pt_api");
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLists = {{
      {"args", "input"},
      {"outputs", "output"},
      {"parameters", "parameters"},
      {"parameters_grad", "parameters_grad"},
  }};
  ApiMapping out;
  out.from_file_ = true;
  for (const YamlNode& node : root.items) {
    const YamlNode* target = node.Find("ms_api");
    const YamlNode* golden = node.Find("pt_api");
    if (target == nullptr || golden == nullptr || !target->IsText() || !golden->IsText()) {
      return WrongFile(path, "ms_api and pt_api in every item");
    }
    Item item;
    item.api = golden->text;
    bool fits = true;
    for (const auto& [list, section] : kLists) {
      std::vector<std::string> from;
      std::vector<std::string> to;
      fits = fits && TakeTexts(node.Find(Concat("ms_", list)), &from) &&
             TakeTexts(node.Find(Concat("pt_", list)), &to) && from.size() == to.size();
      if (!fits) break;
      Lists& lists = item.lists[std::string(section)];
      for (size_t i = 0; i < from.size(); ++i) lists.emplace_back(from[i], to[i]);
    }
    if (fits) {
      item.line = out.lines_.size();
      out.lines_.push_back(LineText(path, target->text, golden->text));
      out.items_[target->text] = std::move(item);
    } else {
      ++out.skipped_items_;
    }
  }
  return out;
}

std::string ApiMapping::MapByItem(const Item& item, std::string_view name, size_t api_end) const {
  for (const auto& [section, lists] : item.lists) {
    const std::string mark = Concat(".", section, ".");
    const size_t at = name.find(mark, api_end);
    if (at == std::string_view::npos) continue;
    const size_t begin = at + mark.size();
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view index = name.substr(begin, end - begin);
    for (const auto& [from, to] : lists) {
      if (from == index) {
        return Concat(item.api, name.substr(api_end, begin - api_end), to, name.substr(end));
      }
    }
    return {};  // arguments that the item does not list have no partner
  }
  return Concat(item.api, name.substr(api_end));
}

std::string ApiMapping::Map(std::string_view name, std::vector<size_t>* used) const {
  const size_t api_end = ApiEnd(name);
  if (api_end == std::string_view::npos) return std::string(name);
  const std::string_view api = name.substr(0, api_end);
  if (!from_file_) return Concat(BuiltInApi(api), name.substr(api_end));
  const auto found = items_.find(api);
  if (found == items_.end()) return std::string(name);
  if (used != nullptr) used->push_back(found->second.line);
  return MapByItem(found->second, name, api_end);
}

Result<DataMapping> DataMapping::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, ReadYaml(path));
  if (!root.IsMap()) return WrongFile(path, "lines 'target parameter: golden parameter'");
  DataMapping out;
  for (const auto& [key, value] : root.members) {
    if (!value.IsText()) return WrongFile(path, Concat("a parameter name behind '", key, ":'"));
    out.golden_of_[key] = {value.text, out.lines_.size()};
    out.lines_.push_back(LineText(path, key, value.text));
  }
  return out;
}

std::string DataMapping::Map(std::string_view name, std::vector<size_t>* used) const {
  const auto found = golden_of_.find(name);
  if (found == golden_of_.end()) return std::string(name);
  if (used != nullptr) used->push_back(found->second.line);
  return found->second.name;
}

}  // namespace sonde::precision
