// Statements of a user in processes of their own, so that none of them takes this one along: a
// crash of the database is an error of its statement, and limits of memory and time hold for
// whatever a function does, since a process can be ended at any moment.
//
// A process opens the stores once and runs one statement after the other; several statements at a
// time have a process each. Tables that are made (made_tables.h) are made in this process, and
// their rows are sent. Threads: any. Errors: those of the statements; kResourceExhausted and
// kCancelled at a limit. Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/host/private_folder.h"
#include "base/status.h"
#include "store/joint.h"
#include "store/user_statements.h"

namespace sonde::store::internal {

// What a process opens.
struct StatementPlan {
  enum class View : uint8_t {
    kUser,    // as UserStatements
    kOwn,     // as JointStore with the columns of its only store
    kLeading  // as JointStore with columns in front
  };
  View view = View::kUser;
  std::vector<StoreFile> files;
  int threads = 1;
  StatementLimits limits;
  bool reads_files = false;
};

class StatementProcesses {
 public:
  // Starts one and has it open the stores: its error is that of opening.
  static Result<std::unique_ptr<StatementProcesses>> Open(StatementPlan plan);
  StatementProcesses(const StatementProcesses&) = delete;
  StatementProcesses& operator=(const StatementProcesses&) = delete;
  ~StatementProcesses();

  // Once, before the first statement.
  Status Offer(std::shared_ptr<const MadeTables> made);
  // As RunStatement of user_statements.h, within the limits.
  Status Run(const std::string& sql, Asker asker,
             const std::function<Status(const std::vector<QueryColumn>&)>& begin,
             const std::function<Status(const Chunk&)>& consume, Cancellation* cancellation) const;
  Status WriteParquet(const std::string& sql, const std::string& path,
                      Cancellation* cancellation) const;
  // A new path for a file of this process's own; removed with this object.
  Result<std::string> TemporaryFile(const std::string& extension) const;

 private:
  class Worker;
  struct Request;
  explicit StatementProcesses(StatementPlan plan);
  Result<std::unique_ptr<Worker>> Start() const;
  Status Ask(const Request& request) const;
  void GiveBack(std::unique_ptr<Worker> worker) const;

  const StatementPlan plan_;
  std::unique_ptr<base::PrivateFolder> folder_;  // null: there is no place for one
  std::shared_ptr<const MadeTables> made_;       // null: none
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Worker> idle_;
};

// The bytes of frames.
std::string PlanBytes(const StatementPlan& plan, const std::string& folder);
Result<StatementPlan> ReadPlan(std::string_view bytes, std::string& folder);

}  // namespace sonde::store::internal
