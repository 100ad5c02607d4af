// Opens the traces of a job for statements.
//
// Traces without a current store are imported first, several at a time. Few traces, and large ones,
// have a store each; of many the small ones lie in packs (packs.h), so that files and memory stay
// within bounds. One that cannot be read is reported and left out.
// Threads: pure functions; `notify` is called from several threads, one at a time. Errors: where
// none can be read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/failures.h"
#include "job/job.h"
#include "store/joint.h"

namespace sonde::job {

using NoticeSink = std::function<void(std::string_view line)>;

struct OpenOptions {
  int threads = 1;
  NoticeSink notify;                    // what the user should know
  NoticeSink complain;                  // what went wrong, though not for all
  bool shows_progress = false;          // on standard error, where traces are many
  bool is_thrifty = false;              // statements over small stores run on one thread
  store::JointOptions statements = {};  // else `threads` above hold for them
};

struct JobFiles {
  std::vector<store::StoreFile> files;
  bool is_whole = true;                // all traces are in them
  std::vector<TraceFailure> failures;  // of those that are not
  // Those of OpenForRows that no store was made of: their rows are read from their own files.
  std::vector<Trace> unstored = {};
};

Result<JobFiles> OpenFiles(const Job& job, const OpenOptions& options);

struct OpenedJob {
  std::vector<store::StoreFile> files;
  store::JointStore::Columns columns = store::JointStore::Columns::kOwn;
  std::unique_ptr<store::JointStore> store;  // of a single trace its own, else the tables of all
  bool is_whole = true;
};

Result<OpenedJob> Open(const Job& job, const OpenOptions& options);
// The file of a store by itself, whatever it was made from.
Result<OpenedJob> OpenStoreFile(const std::string& path, const OpenOptions& options);

}  // namespace sonde::job
