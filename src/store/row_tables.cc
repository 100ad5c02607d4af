#include "store/row_tables.h"

#include <algorithm>
#include <vector>

#include "base/host/parallel.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

template <class Row>
Status WriteTable(std::span<const Row> rows, Transaction& transaction) {
  if (rows.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<Row>::Open(transaction));
  for (const Row& row : rows) writer.Append(row);
  return writer.Close();
}

struct Job {
  size_t bytes;
  std::function<Status(Transaction&)> write;
};

}  // namespace

Status RowTables::Write(int threads, const std::function<Result<Transaction>()>& begin) const {
  std::vector<Job> jobs;
#define SONDE_STORE_JOB(Row, table, columns, meaning)                          \
  jobs.push_back({Rows<Row>().size_bytes(), [this](Transaction& transaction) { \
                    return WriteTable(Rows<Row>(), transaction);               \
                  }});
  SONDE_TABLES(SONDE_STORE_JOB)
#undef SONDE_STORE_JOB
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.bytes > b.bytes; });
  // The largest tables each in a transaction, the others, which are small, in one.
  constexpr size_t kAlone = 3;
  return base::ParallelForStatus(kAlone + 1, base::ParallelOptions{.max_threads = threads},
                                 [&](size_t part) -> Status {
                                   SONDE_ASSIGN_OR_RETURN(Transaction transaction, begin());
                                   const size_t end = part < kAlone ? part + 1 : jobs.size();
                                   for (size_t i = part; i < end; ++i) {
                                     SONDE_RETURN_IF_ERROR(jobs[i].write(transaction));
                                   }
                                   return transaction.Commit();
                                 });
}

}  // namespace sonde::store
