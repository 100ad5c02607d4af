// Results of recipes (recipes/registry.h) over all traces of a job, as tables that a statement
// names: those of each trace with columns trace, run and rank in front.
//
// A result is made when it is first asked for, from the tables that its recipe needs, and kept in
// the user's cache folder by the content of the traces and the build of this program. Memory: the
// rows of one pack a thread, or of one large trace. Threads: any. A trace of which it cannot be
// made is reported and left out.
#pragma once

#include <memory>
#include <vector>

#include "job/open.h"
#include "store/joint.h"
#include "store/made_tables.h"

namespace sonde::job {

// For JointStore::Offer and UserStatements::Offer; `columns` as there.
std::shared_ptr<const store::MadeTables> MakeResults(std::vector<store::StoreFile> files,
                                                     store::JointStore::Columns columns,
                                                     int threads, NoticeSink complain);

}  // namespace sonde::job
