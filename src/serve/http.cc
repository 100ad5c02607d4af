#include "serve/http.h"

#include <httplib.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/strings.h"
#include "serve/messages.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kThreads = 160;  // one a connection; an event stream holds its own
constexpr int kBacklog = 512;     // the library's own is 5
constexpr int kReadSeconds = 10;  // until a request is whole
constexpr int kWriteSeconds = 20;

int HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kCancelled:
    case StatusCode::kFailedPrecondition:
      return 409;
    case StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

void Refuse(httplib::Response& response, int status, std::string_view message) {
  response.status = status;
  response.set_content(ToJson(ErrorMessage{.error = std::string(message)}), "application/json");
}

bool SameText(std::string_view a, std::string_view b) {
  // Takes as long for a wrong token as for the right one.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

// Browsers send cookies to every port of a machine.
std::string CookieName(int port) { return Concat("sonde_token_", std::to_string(port)); }

std::string CookieOf(const httplib::Request& request, int port) {
  const std::string cookies = request.get_header_value("Cookie");
  const std::string wanted = Concat(CookieName(port), "=");
  for (std::string_view part : base::Split(cookies, ';')) {
    part = base::Trim(part);
    if (part.starts_with(wanted)) return std::string(part.substr(wanted.size()));
  }
  return {};
}

HttpRequest Convert(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params) request.parameters.emplace(name, value);
  request.body = from.body;
  request.accepts_gzip = from.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  return request;
}

void Stream(httplib::Response& response, HttpAnswer& answer) {
  response.set_chunked_content_provider(
      answer.type, [next = std::move(answer.stream)](size_t, httplib::DataSink& sink) {
        std::string piece;
        if (!next(piece)) {
          sink.done();
          return true;
        }
        return sink.is_writable() && (piece.empty() || sink.write(piece.data(), piece.size()));
      });
}

void Convert(HttpAnswer answer, httplib::Response& response) {
  response.status = answer.status;
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Cache-Control", "no-store");
  for (const auto& [name, value] : answer.headers) {
    response.headers.erase(name);
    response.set_header(name, value);
  }
  if (answer.stream) return Stream(response, answer);
  if (answer.constant.empty()) return response.set_content(answer.body, answer.type);
  if (answer.constant_is_gzip) response.set_header("Content-Encoding", "gzip");
  response.set_content_provider(
      answer.constant.size(), answer.type,
      [data = answer.constant](size_t offset, size_t length, httplib::DataSink& sink) {
        return sink.write(data.data() + offset, std::min(length, data.size() - offset));
      });
}

}  // namespace

std::string HttpRequest::Text(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string() : found->second;
}

Result<int64_t> HttpRequest::Int(const std::string& name, std::optional<int64_t> fallback) const {
  const auto found = parameters.find(name);
  if (found == parameters.end()) {
    if (fallback) return *fallback;
    return base::InvalidArgumentError(Concat("the parameter '", name, "' is missing"));
  }
  const auto value = base::ParseInt64(found->second);
  if (!value) {
    return base::InvalidArgumentError(Concat("the parameter '", name, "' must be an integer"));
  }
  return *value;
}

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, HttpHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_keep_alive_max_count(1000);
    server_.set_tcp_nodelay(true);
    server_.set_read_timeout(kReadSeconds);
    server_.set_write_timeout(kWriteSeconds);
    server_.set_payload_max_length(options_.max_body_bytes);
    server_.set_socket_options([this](socket_t socket) {
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      socket_ = socket;
    });
    server_.set_pre_routing_handler([this](const auto& request, auto& response) {
      return Admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                      : httplib::Server::HandlerResponse::Handled;
    });
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      Handle(request, response);
    };
    server_.Get(".*", handle);
    server_.Post(".*", handle);
  }

  Status Bind() {
    port_ = options_.port;
    if (options_.port == 0) {
      port_ = server_.bind_to_any_port(options_.host.c_str());
      if (port_ <= 0) port_ = -1;
    } else if (!server_.bind_to_port(options_.host.c_str(), options_.port)) {
      port_ = -1;
    }
    if (port_ < 0) {
      return base::UnavailableError(Concat("cannot listen on ", options_.host, " port ",
                                           std::to_string(options_.port),
                                           ": it is in use, or not an address of this machine"));
    }
    if (::listen(socket_, kBacklog) != 0) return base::InternalError("cannot listen");
    return {};
  }

  int port() const { return port_; }
  void Run() { server_.listen_after_bind(); }
  void Stop() { server_.stop(); }

 private:
  bool IsOurHost(const std::string& host) const {
    constexpr int kStandardPort = 80;  // that addresses leave out
    const std::string port = Concat(":", std::to_string(port_));
    if (port_ == kStandardPort && host.find(':', host.find(']') + 1) == std::string::npos) {
      return IsOurHost(Concat(host, port));
    }
    return host == Concat("127.0.0.1", port) || host == Concat("localhost", port) ||
           host == Concat("[::1]", port) || host == Concat(options_.host, port);
  }

  // Answers itself where it does not admit.
  bool Admit(const httplib::Request& request, httplib::Response& response) const {
    if (request.has_header("Transfer-Encoding")) {
      Refuse(response, 411, "the length of the body must be given");
      return false;
    }
    const std::string host = request.get_header_value("Host");
    // With a token any name may be used, of a tunnel or of this machine: it is the token that
    // keeps foreign pages out.
    if (options_.token.empty() && !IsOurHost(host)) {
      Refuse(response, 403, "this server does not answer under that name");
      return false;
    }
    const std::string origin = request.get_header_value("Origin");
    // By https where a tunnel speaks it for us.
    if (!origin.empty() && origin != Concat("http://", host) &&
        origin != Concat("https://", host)) {
      Refuse(response, 403, "requests of other pages are refused");
      return false;
    }
    if (!options_.token.empty() && !SameText(request.get_param_value("token"), options_.token) &&
        !SameText(CookieOf(request, port_), options_.token)) {
      Refuse(response, 401, "open the whole address that sonde view printed, with its token");
      return false;
    }
    return true;
  }

  void Handle(const httplib::Request& request, httplib::Response& response) const {
    Result<HttpAnswer> answer = handler_(Convert(request));
    if (!answer.ok()) {
      Refuse(response, HttpStatusOf(answer.status().code()), answer.status().message());
      return;
    }
    if (!options_.token.empty() && request.has_param("token")) {
      answer->headers.emplace_back("Set-Cookie", Concat(CookieName(port_), "=", options_.token,
                                                        "; HttpOnly; SameSite=Strict; Path=/"));
    }
    Convert(std::move(*answer), response);
  }

  HttpOptions options_;
  HttpHandler handler_;
  httplib::Server server_;
  socket_t socket_ = INVALID_SOCKET;
  int port_ = -1;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const HttpOptions& options,
                                                       HttpHandler handler) {
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  SONDE_RETURN_IF_ERROR(impl->Bind());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Run() { impl_->Run(); }
void HttpServer::Stop() { impl_->Stop(); }

Result<std::string> MakeToken() {
  std::array<unsigned char, 16> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return base::InternalError("the system gave no random numbers for the token");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4U];
    token += "0123456789abcdef"[byte & 15U];
  }
  return token;
}

}  // namespace sonde::serve
