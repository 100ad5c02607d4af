// Statements of the user on one trace or all: where they run, and that they can be cancelled.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "serve/http.h"
#include "serve/session.h"

namespace sonde::serve {

// By the parameter `trace`; -1 or absent: all ranks that are open.
inline constexpr int64_t kWholeLake = -2;
Result<std::shared_ptr<const store::UserStatements>> StoreFor(Session& session,
                                                              const HttpRequest& request);

// The statement of a request, under its parameter `id`: ends when somebody cancels it, when who
// asked leaves, and at its limits (StatementLimits). Takes itself from the session's list when it
// has ended.
class RunningStatement {
 public:
  RunningStatement(Session& session, const HttpRequest& request)
      : session_(session),
        id_(request.Text("id")),
        cancellation_(session.BeginStatement(id_)),
        caller_(request.caller) {
    if (caller_ != nullptr) {
      caller_->WhenLeft([statement = cancellation_] { statement->Cancel(); });
    }
  }
  RunningStatement(const RunningStatement&) = delete;
  RunningStatement& operator=(const RunningStatement&) = delete;
  ~RunningStatement() {
    if (caller_ != nullptr) caller_->WhenLeft({});
    session_.EndStatement(id_);
  }
  store::Cancellation* cancellation() const { return cancellation_.get(); }

 private:
  Session& session_;
  std::string id_;
  std::shared_ptr<store::Cancellation> cancellation_;
  std::shared_ptr<HttpCaller> caller_;
};

}  // namespace sonde::serve
