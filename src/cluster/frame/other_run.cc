#include "cluster/frame/other_run.h"

#include <utility>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "cluster/frame/run.h"
#include "job/job.h"

namespace sonde::cluster {

Status CheckBaseRun(const ModeOptions& options) {
  const std::string path = TextOf(options.values, kBaseRun);
  if (path.empty()) {
    return base::InvalidArgumentError(
        "Must specify the --bp parameter: the folder of the base run");
  }
  if (options.reader.value != nullptr) return {};  // its parts may be all that is here
  return job::FindWholeJob({path}, {.max_depth = kFolderDepth, .allow = {}}).status();
}

namespace {

Result<RankChoice> ChoiceOf(const std::string& folder, const std::vector<int32_t>& ranks,
                            const ModeOptions& options) {
  if (options.reader.value != nullptr) return options.reader.value->Choose(folder, ranks);
  SONDE_ASSIGN_OR_RETURN(const job::Job found,
                         job::FindWholeJob({folder}, {.max_depth = kFolderDepth, .allow = {}}));
  return ChooseRanks(found, ranks);
}

}  // namespace

Result<std::vector<RankPart>> MapFolder(const Mode& mode, const std::string& folder,
                                        const std::vector<int32_t>& ranks,
                                        const ModeOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const RankChoice choice, ChoiceOf(folder, ranks, options));
  RunOptions run;
  run.threads = base::AvailableThreads();
  run.notify = [](std::string_view) {};
  SONDE_ASSIGN_OR_RETURN(MappedRanks mapped, MapRanks(mode, choice.ranks, options, run));
  if (!mapped.failures.empty()) {
    Status why = mapped.failures.front().why;
    return std::move(why).Annotate(mapped.failures.front().path);
  }
  return std::move(mapped.parts);
}

}  // namespace sonde::cluster
