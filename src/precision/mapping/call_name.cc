#include "precision/mapping/call_name.h"

#include "base/strings.h"
#include "precision/compare/pairing.h"
#include "precision/dump/construct_file.h"

namespace sonde::precision {

bool ParseModuleCall(std::string_view name, ModuleCall* out) {
  if (!IsModuleName(name)) return false;
  name.remove_prefix(name.find('.') + 1);
  for (const std::string_view state : {std::string_view(".forward"), std::string_view(".backward"),
                                       std::string_view(".parameters_grad")}) {
    const size_t at = name.rfind(state);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = name.substr(at + state.size());
    if (!rest.empty() && rest[0] != '.') continue;
    out->state = state.substr(1);
    out->number = rest.empty() ? rest : rest.substr(1);
    const std::string_view place = name.substr(0, at);
    const size_t dot = place.rfind('.');
    out->class_name = place.substr(dot == std::string_view::npos ? 0 : dot + 1);
    out->path = dot == std::string_view::npos ? std::string_view() : place.substr(0, dot);
    return true;
  }
  return false;
}

std::string ShortApiName(std::string_view name) {
  const std::string plain = WithoutCallNumber(name);
  const size_t first = plain.find('.');
  const size_t last = plain.rfind('.');
  return first == std::string::npos || last <= first ? plain
                                                     : plain.substr(first + 1, last - first - 1);
}

std::string ForwardTwin(std::string_view name) {
  const size_t at = name.rfind("backward");
  if (at == std::string_view::npos) return {};
  return base::Concat(name.substr(0, at), "forward", name.substr(at + 8));
}

}  // namespace sonde::precision
