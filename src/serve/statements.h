// Statements of the user on one trace or all: where they run, and that they can be cancelled.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "serve/http.h"
#include "serve/session.h"

namespace sonde::serve {

// By the parameter `trace`; -1 or absent: all ranks.
Result<std::shared_ptr<const store::UserStatements>> StoreFor(Session& session,
                                                              const HttpRequest& request);

// Takes itself from the session's list when the statement has ended.
class RunningStatement {
 public:
  RunningStatement(Session& session, std::string id)
      : session_(session), id_(std::move(id)), cancellation_(session.BeginStatement(id_)) {}
  RunningStatement(const RunningStatement&) = delete;
  RunningStatement& operator=(const RunningStatement&) = delete;
  ~RunningStatement() { session_.EndStatement(id_); }
  store::Cancellation* cancellation() const { return cancellation_.get(); }

 private:
  Session& session_;
  std::string id_;
  std::shared_ptr<store::Cancellation> cancellation_;
};

}  // namespace sonde::serve
