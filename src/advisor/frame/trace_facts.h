// Facts of a trace for rules in addition to its tables: the chip, the environment, the versions.
//
// Names that rules see: ai_core_num, aiv_num, aic_frequency (0: unknown),
// env (JSON of the recorded variables), is_text, is_ascend, is_other, rank; of the command:
// language, cann, torch, has_pair, has_no_benchmark, is_single, rank_column. Threads: any. A file
// that cannot be read counts as missing, with a notice.
#pragma once

#include <string>
#include <vector>

#include "advisor/frame/fill.h"
#include "base/status.h"
#include "job/job.h"

namespace sonde::advisor {

struct TraceFacts {
  Values values;
  std::vector<std::string> notices;
};

TraceFacts FactsOf(const job::Trace& trace);

}  // namespace sonde::advisor
