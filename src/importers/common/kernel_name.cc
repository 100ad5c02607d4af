#include "importers/common/kernel_name.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "importers/common/communication_names.h"

namespace sonde::importers::common {
namespace {

std::string TryToDemangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string();
}

// Older C++ libraries do not know the 16 bit types of AMD's kernels; the type does not matter here,
// since only the function's name is kept.
std::string Demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  std::string text = TryToDemangle(std::string(name));
  if (text.empty()) {
    const std::string simpler = base::ReplaceAll(name, "DF16b", "Dh");
    text = TryToDemangle(base::ReplaceAll(simpler, "DF16_", "Dh"));
  }
  return text.empty() ? std::string(name) : text;
}

// A part of the name that is no parameter list: "(anonymous namespace)", "operator()".
bool IsNameInParentheses(std::string_view text, size_t at) {
  return text.substr(at).starts_with("(anonymous namespace)") ||
         text.substr(0, at).ends_with("operator");
}

// The text outside of all brackets, up to its parameters.
std::string WithoutBrackets(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && c == '(' && IsNameInParentheses(text, i)) {
      const size_t end = text.find(')', i);
      if (end == std::string_view::npos) break;
      // A blank would end the name.
      plain += base::ReplaceAll(text.substr(i, end + 1 - i), " ", "_");
      i = end;
      continue;
    }
    if (depth == 0 && c == '(') break;
    const bool opens = c == '<' || c == '(';
    const bool closes = c == '>' || c == ')';
    if (closes && depth > 0) --depth;
    if (depth == 0 && !opens && !closes) plain += c;
    if (opens) ++depth;
  }
  return plain;
}

bool HoldsWord(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

}  // namespace

std::string KernelFunction(std::string_view name) {
  const std::string text = Demangled(name);
  const std::string plain = WithoutBrackets(text);
  const std::string_view trimmed = base::Trim(plain);
  const size_t blank = trimmed.rfind(' ');
  const std::string_view function =
      blank == std::string_view::npos ? trimmed : trimmed.substr(blank + 1);
  if (function.empty()) return std::string(name);
  return base::ReplaceAll(function, "(anonymous_namespace)", "(anonymous namespace)");
}

std::string KernelCollective(std::string_view name) {
  const std::string text = base::ToLower(name.substr(0, name.find('(')));
  // "ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_ReduceScatter_Sum_f32_RING".
  if (text.starts_with("nccl") || text.starts_with("rccl") || text.starts_with("oneccl")) {
    const size_t begin = text.find('_');
    if (begin == std::string::npos) return NormalCollective(text);
    const std::string_view rest = std::string_view(text).substr(begin + 1);
    return NormalCollective(rest.substr(0, rest.find('_')));
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kWords = {{
      {"cross_device_reduce", "allreduce"},
      {"allreduce_fusion", "allreduce"},
      {"one_shot_all_reduce", "allreduce"},
      {"two_shot_all_reduce", "allreduce"},
      {"oneshotallreduce", "allreduce"},
      {"twoshotallreduce", "allreduce"},
      {"multimem_all_reduce", "allreduce"},
      {"multimem_one_shot_all_reduce", "allreduce"},
      {"multimem_all_gather", "allgather"},
      {"multimem_reduce_scatter", "reducescatter"},
      {"userbuffers_fp16_sum", "allreduce"},
      {"deep_ep::", "alltoall"},
  }};
  const std::string whole = base::ToLower(name.substr(0, name.find('<')));
  for (const auto& [word, type] : kWords) {
    if (HoldsWord(whole, word)) return std::string(type);
  }
  return {};
}

const char* KernelTaskType(std::string_view name) {
  if (name.starts_with("__amd_rocclr_copy")) return "MEMCPY";
  return name.starts_with("__amd_rocclr_fill") ? "MEMSET" : "KERNEL";
}

}  // namespace sonde::importers::common
