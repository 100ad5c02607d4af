#include "record/control_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

#include "record/clock.h"
#include "record/error.h"
#include "record/file.h"
#include "record/peer_user.h"

namespace sonde::record {
namespace {

constexpr size_t kMaxConnections = 16;
constexpr int kBacklog = 16;
constexpr int64_t kRequestTimeoutNs = 2'000'000'000;
constexpr int64_t kNoDescriptorNs = 500'000'000;  // until the next try
constexpr int kSendTimeoutSeconds = 2;

bool SplitTcpAddress(std::string_view address, uint16_t* port) {
  for (const std::string_view prefix : {"http://127.0.0.1:", "http://localhost:"}) {
    if (address.substr(0, prefix.size()) != prefix) continue;
    const std::string_view text = address.substr(prefix.size());
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *port);
    return error == std::errc() && rest == text.data() + text.size();
  }
  return false;
}

// A socket file without a listening process.
bool IsStaleSocket(const sockaddr_un& name) {
  struct stat info{};
  if (lstat(name.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool refused = connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 &&
                       errno == ECONNREFUSED;
  CloseFile(&fd);
  return refused;
}

}  // namespace

int ControlServer::Listen(const std::string& address) {
  constexpr std::string_view kUnix = "unix:";
  if (listening()) return Fail(EALREADY, "the control address is %s already", address_.c_str());
  uint16_t port = 0;
  int result = 0;
  if (address.compare(0, kUnix.size(), kUnix) == 0) {
    result = ListenUnix(address.substr(kUnix.size()));
  } else if (SplitTcpAddress(address, &port)) {
    result = ListenTcp(port);
  } else {
    return Fail(EINVAL, "control address '%s': http://127.0.0.1:PORT or unix:PATH is expected",
                address.c_str());
  }
  if (result != 0) {
    CloseFile(&listener_);
    const char* remedy = result != -EADDRINUSE ? ""
                         : address.starts_with(kUnix)
                             ? " (by another process: each needs a socket of its own)"
                             : " (by another process: port 0 gives each a port of its own)";
    return Fail(-result, "cannot listen on %s: %s%s", address.c_str(), ErrorText(-result), remedy);
  }
  identity_ = DescriptorIdentity(listener_);
  return 0;
}

int ControlServer::ListenTcp(uint16_t port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return -errno;
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      listen(listener_, kBacklog) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return -errno;
  }
  port_ = ntohs(name.sin_port);
  address_ = "http://127.0.0.1:" + std::to_string(port_);
  return 0;
}

int ControlServer::ListenUnix(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) return -ENAMETOOLONG;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  if (IsStaleSocket(name)) unlink(path.c_str());
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return -errno;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) return -errno;
  socket_path_ = path;
  // Before listen: until then no client can connect.
  if (chmod(path.c_str(), 0600) != 0 || listen(listener_, kBacklog) != 0) return -errno;
  port_ = 0;
  address_ = "unix:" + path;
  return 0;
}

void ControlServer::Close() {
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
  for (Connection& connection : connections_) CloseFile(&connection.fd);
  connections_.clear();
  ForgetClosed();
  CloseFile(&listener_);
  socket_path_.clear();
  address_.clear();
}

void ControlServer::AbandonInChild() {
  ForgetClosed();
  CloseFile(&listener_);
  new (&connections_) std::vector<Connection>;
  new (&socket_path_) std::string;
  new (&address_) std::string;
}

void ControlServer::ForgetClosed() {
  if (listening() && !identity_.Holds(listener_)) listener_ = -1;
}

void ControlServer::AddPolls(std::vector<pollfd>* polls) const {
  if (listening() && connections_.size() < kMaxConnections && MonotonicNs() >= accept_again_ns_) {
    polls->push_back({listener_, POLLIN, 0});
  }
  for (const Connection& connection : connections_) polls->push_back({connection.fd, POLLIN, 0});
}

void ControlServer::Serve(const std::vector<pollfd>& polls) {
  const int64_t now_ns = MonotonicNs();
  for (size_t i = connections_.size(); i-- > 0;) {
    Connection& connection = connections_[i];
    const bool ready = std::any_of(polls.begin(), polls.end(), [&](const pollfd& poll) {
      return poll.fd == connection.fd && poll.revents != 0;
    });
    bool open = !ready || Advance(&connection);
    if (open && now_ns > connection.deadline_ns) {
      Answer(connection.fd, HttpError(408, "the request did not arrive in time"));
      open = false;
    }
    if (open) continue;
    CloseFile(&connection.fd);
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const pollfd& poll : polls) {
    if (poll.fd == listener_ && poll.revents != 0) Accept();
  }
}

void ControlServer::Accept() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {
    // Else the client has gone again. It waits as long as the program has no descriptor for it.
    if (errno == EMFILE || errno == ENFILE) accept_again_ns_ = MonotonicNs() + kNoDescriptorNs;
    return;
  }
  const timeval timeout{kSendTimeoutSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  // Every user of the machine reaches the port. A unix socket has its permissions.
  if (port_ != 0 && !IsPeerThisUser(fd)) {
    Answer(fd, HttpError(403, "only the user of the program, and root, may control it"));
    close(fd);
    return;
  }
  connections_.push_back({fd, MonotonicNs() + kRequestTimeoutNs, {}});
}

bool ControlServer::Advance(Connection* connection) {
  char buffer[4096];
  const ssize_t n = recv(connection->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  connection->received.append(buffer, static_cast<size_t>(n));
  HttpRequest request;
  HttpResponse response;
  switch (ParseHttpRequest(connection->received, port_, &request, &response)) {
    case HttpParse::kNeedMore:
      return true;
    case HttpParse::kNeedContinue:
      if (!connection->sent_continue) {
        constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        send(connection->fd, kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
      }
      connection->sent_continue = true;
      return true;
    case HttpParse::kDone:
      response = handler_(request);
      break;
    case HttpParse::kRefused:
      break;
  }
  Answer(connection->fd, response);
  return false;
}

void ControlServer::Answer(int fd, const HttpResponse& response) {
  const std::string text = FormatHttpResponse(response);
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the client has gone, or does not read
    sent += static_cast<size_t>(n);
  }
  // Without this, closing with bytes unread would take the answer from the client.
  shutdown(fd, SHUT_WR);
  char rest[4096];
  for (int i = 0; i < 64 && recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; ++i) {
  }
}

}  // namespace sonde::record
