#include "importers/common/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "importers/common/communication_names.h"
#include "store/collectives.h"

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

bool IsPartOfWord(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Behind its begin or a sign that is no letter and no digit.
bool HoldsPart(std::string_view text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    if (at == 0 || !IsPartOfWord(text[at - 1])) return true;
  }
  return false;
}

// As NCCL's first releases begin the names of kernels, without "nccl"; longer ones before those
// that they begin with.
constexpr std::string_view kFirstNames[] = {"allreduce", "allgather", "reducescatter",
                                            "broadcast", "sendrecv",  "alltoall",
                                            "reduce",    "gather",    "scatter"};

// "ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_ReduceScatter_Sum_f32_RING",
// "ncclAllReduceRingLLKernel_sum_f32" before 2.6; "" for other functions of the libraries.
std::string TypeOfLibrary(std::string_view function) {
  constexpr std::string_view kKernel = "kernel_";
  const size_t kernel = function.find(kKernel);
  if (kernel == std::string_view::npos) return {};
  std::string_view before = function.substr(0, kernel);
  before.remove_prefix(before.find("ccl") + 3);
  for (const std::string_view type : kFirstNames) {
    if (before.starts_with(type)) return std::string(type);
  }
  const std::string_view rest = function.substr(kernel + kKernel.size());
  return NormalCollective(rest.substr(0, rest.find('_')));
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
  const std::string function = base::ToLower(KernelFunction(name));
  for (const std::string_view library : {"nccl", "rccl", "oneccl"}) {
    if (function.starts_with(library)) return TypeOfLibrary(function);
  }
  for (const store::Collective& kernel : store::KnownCollectives().kernels) {
    if (HoldsPart(function, kernel.name)) return kernel.type;
  }
  return {};
}

const char* KernelTaskType(std::string_view name) {
  if (name.starts_with("__amd_rocclr_copy")) return "MEMCPY";
  return name.starts_with("__amd_rocclr_fill") ? "MEMSET" : "KERNEL";
}

}  // namespace sonde::importers::common
