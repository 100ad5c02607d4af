// The server's side of HTTP, behind which a library does the work: requests in, answers out.
//
// Listens on one address. Refused after the head of a request, of which 32 KB are held at most:
// requests for another host name (so that a foreign page cannot reach the server by a name of its
// own), from another origin, without the token where there is one, with a body of unknown length, a
// packed or a long one. One thread reads and writes for all connections, of which there are 256 at
// most and 64 of one other machine; for one more the oldest goes that sent no whole request. A
// request is whole within HttpOptions::read_seconds, and an answer is taken at 256 KB in twenty.
// Threads: handlers run on up to 64 at once. Errors: Status; a failed handler's status becomes an
// answer with its message.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "serve/answer_file.h"

namespace sonde::serve {

// Whether who asked is still there. Any thread.
class HttpCaller {
 public:
  bool left() const;
  // Called once when the caller leaves before the answer, at once where that has happened; on a
  // thread of the server's. What was set before is forgotten: `action` empty forgets it only.
  void WhenLeft(std::function<void()> action);
  void Leave();

 private:
  mutable std::mutex mutex_;
  bool left_ = false;
  std::function<void()> action_;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> parameters;  // of the address, decoded
  std::string body;
  bool accepts_gzip = false;
  std::shared_ptr<HttpCaller> caller = {};  // null in tests of handlers

  std::string Text(const std::string& name) const;  // "" where absent
  // kInvalidArgument where absent without a fallback, or not a number.
  Result<int64_t> Int(const std::string& name, std::optional<int64_t> fallback = {}) const;
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  // Constant memory sent as it is, in place of `body`.
  std::string_view constant = {};
  // The same, for what is long.
  std::shared_ptr<const AnswerFile> file = {};
  bool is_gzip = false;  // its bytes are packed
  std::vector<std::pair<std::string, std::string>> headers = {};
  // An endless answer: gives the next piece, empty to look whether the client is still there;
  // false ends it.
  std::function<bool(std::string& piece)> stream = {};
};

using HttpHandler = std::function<Result<HttpAnswer>(const HttpRequest& request)>;

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;            // 0: any
  std::string token = {};  // "": none is asked for
  size_t max_body_bytes = size_t{1} << 20U;
  int read_seconds = 10;  // until a request is whole
};

class HttpServer {
 public:
  // Bound when it returns. `handler` gets everything that was not refused.
  static Result<std::unique_ptr<HttpServer>> Listen(const HttpOptions& options,
                                                    HttpHandler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  int port() const;
  // Serves until Stop(), which may be called from any thread.
  void Run();
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// 32 hexadecimal digits from the system's random numbers.
Result<std::string> MakeToken();

}  // namespace sonde::serve
