#include "cli/job_notices.h"

#include "base/strings.h"
#include "cli/command.h"

namespace sonde::cli {

void NotifyOfJob(const job::Job& job) {
  for (const std::string& notice : job.notices) PrintNotice(notice);
  if (!job.repeated.empty()) PrintNotice(job::DescribeRepeated(job.repeated));
  if (job.unread.empty()) return;
  PrintNotice(base::Concat("not read, no trace: ", job::Named(job.unread, job.folder)));
}

}  // namespace sonde::cli
