#include "precision/cause/roles.h"

#include <algorithm>
#include <array>

#include "precision/compare/rules.h"

namespace sonde::precision {
namespace {

// The part of `row` behind the call's name: ".input.0", ".input.out".
std::string_view PartOf(const DumpRow& row, std::string_view api) {
  return row.name.starts_with(api) ? row.name.substr(api.size()) : std::string_view();
}

// "linear" of "Functional.linear.0.forward".
std::string_view OperatorOf(std::string_view api) {
  const size_t dot = api.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view rest = api.substr(dot + 1);
  return rest.substr(0, rest.find('.'));
}

bool IsIn(std::string_view part, std::string_view place) {
  return part == place || (part.starts_with(place) && part[place.size()] == '.');
}

// Operators whose argument of this place is written alone. In-place operators that leave a part as
// it was are among them: of memory that somebody filled before, that call's result has been
// compared.
struct Overwritten {
  std::string_view operation;
  std::string_view place;
  std::string_view named;  // the same by name
};
constexpr std::array<Overwritten, 22> kOverwritten = {{
    {"copy_", ".input.0", ""},
    {"__setitem__", ".input.0", ""},
    {"scatter_", ".input.0", ""},
    {"index_copy_", ".input.0", ""},
    {"fill_", ".input.0", ""},
    {"zero_", ".input.0", ""},
    {"index_put_", ".input.0", ""},
    {"normal_", ".input.0", ""},
    {"uniform_", ".input.0", ""},
    {"_foreach_copy_", ".input.0", ""},
    {"recv", ".input.0", ".input.tensor"},
    {"irecv", ".input.0", ".input.tensor"},
    {"all_gather", ".input.0", ".input.tensor_list"},
    {"all_gather_into_tensor", ".input.0", ".input.output_tensor"},
    {"_all_gather_base", ".input.0", ".input.output_tensor"},
    {"reduce_scatter", ".input.0", ".input.output"},
    {"reduce_scatter_tensor", ".input.0", ".input.output"},
    {"_reduce_scatter_base", ".input.0", ".input.output"},
    {"all_to_all", ".input.0", ".input.output_tensor_list"},
    {"all_to_all_single", ".input.0", ".input.output"},
    {"gather", ".input.1", ".input.gather_list"},
    {"scatter", ".input.0", ".input.tensor"},
}};

constexpr std::array<std::string_view, 5> kWrappers = {"_orig_mod.", "_fsdp_wrapped_module.",
                                                       "_checkpoint_wrapped_module.",
                                                       "_forward_module.", "module."};

}  // namespace

bool IsParameterPlace(const DumpRow& row, std::string_view api) {
  if (row.section == Section::kParameters) return true;
  if (row.section != Section::kInput || row.kind != LeafKind::kTensor ||
      !api.starts_with("Functional.") || !api.ends_with(".forward")) {
    return false;
  }
  const std::string_view name = OperatorOf(api);
  const bool weighs = name == "linear" || name.starts_with("conv") || name == "embedding" ||
                      name.ends_with("_norm") || name == "embedding_bag" || name == "bilinear" ||
                      name == "prelu";
  return weighs && !PartOf(row, api).starts_with(".input.0");
}

bool IsOverwrittenPlace(const DumpRow& row, std::string_view api) {
  if (row.section != Section::kInput) return false;
  const std::string_view part = PartOf(row, api);
  if (IsIn(part, ".input.out")) return !api.starts_with("Module.") && !api.starts_with("Cell.");
  const bool collective = api.starts_with("Distributed.");
  if (!collective && !api.starts_with("Tensor.") && !api.starts_with("Torch.")) return false;
  const std::string_view operation = OperatorOf(api);
  return std::any_of(kOverwritten.begin(), kOverwritten.end(), [&](const Overwritten& rule) {
    // gather and scatter of torch are operators of the same name that read their input.
    const bool is_collective_rule = !rule.named.empty();
    return rule.operation == operation && is_collective_rule == collective &&
           (IsIn(part, rule.place) || (!rule.named.empty() && IsIn(part, rule.named)));
  });
}

bool IsUpdatedPlace(const DumpRow& row, std::string_view api) {
  if (row.section != Section::kInput || row.kind != LeafKind::kTensor) return false;
  const std::string_view operation = OperatorOf(api);
  if (operation != "batch_norm" && operation != "instance_norm") return false;
  const std::string_view part = PartOf(row, api);
  return part == ".input.1" || part == ".input.2" || part == ".input.running_mean" ||
         part == ".input.running_var";
}

bool IsUninitialisedApi(std::string_view api) {
  const std::string_view operation = OperatorOf(api);
  return operation.starts_with("empty") || operation.starts_with("new_empty");
}

bool IsNormOfTensors(std::string_view api) {
  const std::string_view operation = OperatorOf(api);
  return operation == "_foreach_norm" || operation == "vector_norm" || operation == "norm" ||
         operation == "linalg_vector_norm";
}

bool IsOptimizerCall(std::string_view api, const ConstructFile* construct) {
  if (construct == nullptr) return false;
  const ConstructEntry* const entry = construct->Find(api);
  return entry != nullptr && entry->parent.starts_with("optimizer");
}

std::string WithoutWrappers(std::string_view name) {
  std::string out(name);
  const size_t prefix = name.starts_with("Module.") ? 7 : name.starts_with("Cell.") ? 5 : 0;
  if (prefix == 0) return out;
  for (size_t at = prefix; at < out.size();) {
    const auto* const wrapper = std::find_if(
        kWrappers.begin(), kWrappers.end(),
        [&](std::string_view text) { return out.compare(at, text.size(), text) == 0; });
    if (wrapper != kWrappers.end()) {
      out.erase(at, wrapper->size());
      continue;
    }
    const size_t dot = out.find('.', at);
    if (dot == std::string::npos) break;
    at = dot + 1;
  }
  return out;
}

bool IsMaskInOtherForm(const DumpRow& a, const DumpRow& b) {
  return a.kind == LeafKind::kTensor && b.kind == LeafKind::kTensor && a.shape == b.shape &&
         (DtypeFamily(a.dtype) == "bool") != (DtypeFamily(b.dtype) == "bool");
}

std::string ModulePath(std::string_view module) {
  std::string plain = WithoutWrappers(module);
  for (const std::string_view phase : {".forward", ".backward", ".parameters_grad"}) {
    const size_t at = plain.rfind(phase);
    if (at == std::string::npos || at == 0) continue;
    const size_t dot = plain.rfind('.', at - 1);
    if (dot == std::string::npos) break;
    plain.resize(dot);
    break;
  }
  const size_t prefix = plain.find('.');
  return prefix == std::string::npos ? std::string() : plain.substr(prefix + 1);
}

}  // namespace sonde::precision
