#include "serve/ranks.h"

#include <string>

#include "base/host/parallel.h"

namespace sonde::serve {

SessionRanks::SessionRanks(const std::vector<std::shared_ptr<const Trace>>& ready,
                           const job::Job& job)
    : job_(job) {
  for (const auto& trace : ready) by_id_[trace->id] = trace;
  std::erase_if(job_.traces, [&](job::Trace& trace) {
    const auto found = by_id_.find(trace.number);
    if (found == by_id_.end()) return true;
    trace.rank = found->second->label().rank;
    return false;
  });
}

Result<cluster::RunResult> SessionRanks::Run(const cluster::Mode& mode,
                                             const std::vector<cluster::Rank>& ranks) const {
  cluster::RunOptions options;
  options.threads = base::AvailableThreads();
  std::vector<std::string> lines;
  options.notify = [&](std::string_view line) { lines.emplace_back(line); };
  options.over = [this](const auto& traces, const auto& needs, const auto& map,
                        const auto& notify) { return Over(traces, needs, map, notify); };
  auto result = cluster::Run(mode, ranks, {}, options);
  if (result.ok()) {
    auto& notices = result->outcome.notices;
    notices.insert(notices.begin(), lines.begin(), lines.end());
  }
  return result;
}

std::vector<job::TraceFailure> SessionRanks::Over(const std::vector<job::Trace>& wanted,
                                                  const recipes::Needs& needs,
                                                  const cluster::MapOne& map,
                                                  const job::NoticeSink& report_clocks) const {
  std::vector<std::shared_ptr<const Trace>> traces;
  for (const job::Trace& trace : wanted) traces.push_back(by_id_.at(trace.number));
  const auto statuses = OverTraces(
      traces, needs, [&](size_t /*at*/, const job::TraceInHand& trace) { return map(trace); },
      report_clocks);
  std::vector<job::TraceFailure> failures;
  for (size_t at = 0; at < statuses.size(); ++at) {
    if (!statuses[at].ok()) failures.push_back({wanted[at].source.path, statuses[at]});
  }
  return failures;
}

std::vector<store::StoreFile> FilesOf(const std::vector<std::shared_ptr<const Trace>>& ready,
                                      const SessionMessage& message) {
  std::vector<store::StoreFile> files;
  std::map<std::string, size_t> packs;  // where the file of each is
  for (const auto& trace : ready) {
    store::TraceLabel label = trace->label();
    label.run = message.traces[static_cast<size_t>(trace->id)].run;
    if (trace->is_copy) continue;
    const auto [place, is_new] = packs.try_emplace(trace->file.path, files.size());
    if (is_new) {
      files.push_back({trace->file.path, {label}, trace->file.is_pack});
    } else if (trace->file.is_pack) {
      files[place->second].traces.push_back(label);
    }  // else a copy of another one
  }
  return files;
}

}  // namespace sonde::serve
