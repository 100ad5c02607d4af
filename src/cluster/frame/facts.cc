#include "cluster/frame/facts.h"

#include <algorithm>

#include "base/strings.h"
#include "recipes/communication/naming.h"

namespace sonde::cluster {

using base::Concat;

std::string CommunicationTypeOf(const recipes::DeviceView& view, size_t index) {
  if (view.data->Name(view.data->communications[index].op_type) == "n/a") return "N/A";
  return NamedCommunicationType(view.communications[index]);
}

std::string GroupDigits(std::string_view communicator) {
  constexpr size_t kDigits = 3;
  std::string digits = base::ParseUint64(communicator)
                           ? std::string(communicator)
                           : std::to_string(recipes::GroupHash(communicator));
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return digits.substr(digits.size() - kDigits);
}

std::string QuotedShapes(const recipes::TraceData& data, int32_t shapes) {
  return shapes == store::kNone ? "N/A" : Concat("\"", data.Name(shapes), "\"");
}

std::string Listed(const std::vector<int32_t>& ranks) {
  constexpr size_t kMost = 10;
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(kMost, ranks.size()); ++i) {
    texts.push_back(std::to_string(ranks[i]));
  }
  if (ranks.size() > kMost) texts.push_back(Concat("... (", std::to_string(ranks.size()), ")"));
  return base::Join(texts, ",");
}

Status NoSuchStep(int64_t step_id, const std::vector<int32_t>& steps) {
  return base::NotFoundError(Concat("there is no step ", std::to_string(step_id),
                                    " (steps: ", steps.empty() ? "none" : Listed(steps), ")"));
}

}  // namespace sonde::cluster
