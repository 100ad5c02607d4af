#include "job/failures.h"

#include <map>

#include "base/strings.h"
#include "job/job.h"

namespace sonde::job {

using base::Concat;

std::vector<std::string> DescribeFailures(const std::vector<TraceFailure>& failures) {
  std::vector<std::string> reasons;  // in the order of their first
  std::map<std::string, std::vector<const TraceFailure*>> same;
  for (const TraceFailure& failure : failures) {
    std::string reason(failure.why.message());
    if (!failure.path.empty()) reason = base::ReplaceAll(reason, failure.path, "");
    auto& list = same[reason];
    if (list.empty()) reasons.push_back(reason);
    list.push_back(&failure);
  }
  std::vector<std::string> lines;
  for (const std::string& reason : reasons) {
    const auto& list = same[reason];
    const TraceFailure& first = *list.front();
    const std::string message(first.why.message());
    const bool has_path = message.find(first.path) != std::string::npos;
    std::string line = has_path ? message : Concat(first.path, ": ", message);
    std::vector<std::string> others;
    for (size_t i = 1; i < list.size(); ++i) others.push_back(list[i]->path);
    if (!others.empty()) line += Concat(" (the same of ", Named(others, ""), ")");
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace sonde::job
