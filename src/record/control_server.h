// The control address: a few connections at a time, each one request, served on the control thread.
//
// Listens on 127.0.0.1 or on a unix socket; only this user and root get in. A connection that has
// not sent its request within two seconds is dropped. Threads: one (ControlThread); the handler
// runs on it. Errors: negative errno with text (error.h).
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record/file.h"
#include "record/http_request.h"

namespace sonde::record {

class ControlServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  explicit ControlServer(Handler handler) : handler_(std::move(handler)) {}
  ~ControlServer() { Close(); }
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // "http://127.0.0.1:PORT" (0: any free one) or "unix:PATH".
  [[nodiscard]] int Listen(const std::string& address);
  void Close();
  // In the child of a fork: closes the listening socket only, because the parent's control thread
  // may have been changing the connections; they stay open, unused.
  void AbandonInChild();

  bool listening() const { return listener_ >= 0; }
  const std::string& address() const { return address_; }

  // Stops listening where the program closed the socket: its number may be another's by now.
  void ForgetClosed();
  // Fills the array for poll; Serve then takes the same array.
  void AddPolls(std::vector<pollfd>* polls) const;
  void Serve(const std::vector<pollfd>& polls);

 private:
  struct Connection {
    int fd;
    int64_t deadline_ns;
    std::string received;
    bool sent_continue = false;
  };
  [[nodiscard]] int ListenTcp(uint16_t port);
  [[nodiscard]] int ListenUnix(const std::string& path);
  void Accept();
  bool Advance(Connection* connection);  // false: finished
  void Answer(int fd, const HttpResponse& response);

  Handler handler_;
  int listener_ = -1;
  DescriptorIdentity identity_;
  uint16_t port_ = 0;
  std::string socket_path_;
  std::string address_;
  std::vector<Connection> connections_;
  int64_t accept_again_ns_ = 0;  // monotonic
};

}  // namespace sonde::record
