// Statements of the user on one trace or all: where they run, and that they can be cancelled.
//
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "serve/http.h"
#include "serve/session.h"

namespace sonde::serve {

// By the parameter `trace`; -1 or absent: all ranks.
Result<std::shared_ptr<const store::UserStatements>> StoreFor(Session& session,
                                                              const HttpRequest& request);

// The statement of a request, under its parameter `id`: ends when somebody cancels it, when who
// asked leaves, and after ten minutes. Takes itself from the session's list when it has ended.
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
    watch_ = std::jthread([statement = cancellation_](const std::stop_token& ended) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any wake;
      wake.wait_for(lock, ended, kMostTime, [] { return false; });
      if (!ended.stop_requested()) statement->Cancel();
    });
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
  static constexpr std::chrono::minutes kMostTime{10};

  std::shared_ptr<HttpCaller> caller_;
  std::jthread watch_;
};

}  // namespace sonde::serve
