// Opens the traces of a job for statements.
//
// Traces without a current store are imported first, several at a time. One that cannot be read is
// said and left out. Threads: pure functions; `notify` and `complain` are called from several
// threads, one at a time. Errors: where none can be read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "job/job.h"
#include "store/store.h"

namespace sonde::job {

using Say = std::function<void(std::string_view line)>;

struct OpenOptions {
  int threads = 1;
  Say notify;    // what the user should know
  Say complain;  // what went wrong, though not for all
};

struct OpenedJob {
  std::unique_ptr<store::Store> store;  // of a single trace its own, else the tables of all
  bool is_whole = true;                 // all traces are in it
};

Result<OpenedJob> Open(const Job& job, const OpenOptions& options);

}  // namespace sonde::job
