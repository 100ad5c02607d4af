#include "serve/http.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <limits>
#include <list>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "serve/http_text.h"
#include "serve/messages.h"

namespace sonde::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using base::Concat;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;
using ErrorCode = boost::system::error_code;

constexpr size_t kThreads = 64;  // for handlers; an event stream holds its own
constexpr int kMaxStreams = 32;
constexpr size_t kMaxConnections = 256;
constexpr size_t kMaxOfOneMachine = 64;  // other than this one
constexpr int kBacklog = 512;
constexpr size_t kMaxHeadBytes = size_t{32} << 10U;
constexpr size_t kPieceBytes = size_t{256} << 10U;
constexpr size_t kDiscardBytes = size_t{256} << 10U;
constexpr auto kIdleTime = seconds(60);   // until the next one begins
constexpr auto kWriteTime = seconds(20);  // for each piece
constexpr auto kLingerTime = std::chrono::milliseconds(500);

HttpAnswer Refusal(int status, std::string_view message) {
  return {.status = status, .body = ToJson(ErrorMessage{.error = std::string(message)})};
}

class Connection;

// Shared state of connections. The network thread's, but handler and pool.
struct Shared {
  explicit Shared(HttpOptions given, HttpHandler handle)
      : options(std::move(given)), handler(std::move(handle)) {}
  const HttpOptions options;
  const HttpHandler handler;
  int port = -1;
  asio::io_context network{1};
  asio::thread_pool pool{kThreads};
  std::atomic<int> streams = 0;
  std::list<std::shared_ptr<Connection>> connections;  // oldest first
  bool stopping = false;
};

// One connection: requests one after another. All on the network thread but what a handler's thread
// calls: Handle, Stream, Send.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared)
      : socket_(std::move(socket)), timer_(shared.network), shared_(shared) {
    ErrorCode ignored;
    std::ignore = socket_.set_option(tcp::no_delay(true), ignored);
    std::ignore = socket_.non_blocking(true, ignored);
    const auto peer = socket_.remote_endpoint(ignored);
    if (!ignored) address_ = peer.address();
  }

  const asio::ip::address& address() const { return address_; }
  // No request of it is being answered.
  bool waits() const { return waits_; }

  void Begin() {
    SetDeadline(seconds(shared_.options.read_seconds));
    ReadHead();
  }

  void Close() {
    if (closed_) return;
    closed_ = true;
    ErrorCode ignored;
    timer_.cancel(ignored);
    std::ignore = socket_.close(ignored);
    Leave();
    std::erase(shared_.connections, shared_from_this());
  }

 private:
  void SetDeadline(Clock::duration time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
      if (!error && self->timer_.expiry() <= Clock::now()) self->Close();
    });
  }

  // The caller is notified by a thread that may wait.
  void Leave() {
    if (caller_ == nullptr) return;
    asio::post(shared_.pool, [caller = std::exchange(caller_, nullptr)] { caller->Leave(); });
  }

  void ReadHead() {
    const HeadEnd end = FindHeadEnd(input_, kMaxHeadBytes);
    if (end.refusal) return Refuse(*end.refusal);
    if (end.size > 0) return TakeHead(end.size);
    ReadSome([](Connection& self) { self.ReadHead(); });
  }

  template <class Then>
  void ReadSome(Then then) {
    socket_.async_read_some(asio::buffer(piece_),
                            [self = shared_from_this(), then](const ErrorCode& error, size_t size) {
                              if (error || self->closed_) return self->Close();
                              self->input_.append(self->piece_.data(), size);
                              then(*self);
                            });
  }

  void TakeHead(size_t size) {
    auto head = ParseHead(std::string_view(input_).substr(0, size));
    if (!head.ok()) return Refuse({400, std::string(head.status().message())});
    request_ = {};
    if (!ReadTarget(head->target, request_)) return Refuse({400, "the address is no path"});
    if (const auto refusal = Admit(*head, request_, shared_.options, shared_.port)) {
      return Refuse(*refusal);
    }
    request_.method = head->method == "HEAD" ? "GET" : head->method;
    request_.accepts_gzip = head->Header("accept-encoding").find("gzip") != std::string::npos;
    is_head_only_ = head->method == "HEAD";
    keep_alive_ = head->keep_alive;
    body_bytes_ = head->content_length;
    input_.erase(0, size);
    ReadBody();
  }

  void ReadBody() {
    if (input_.size() < body_bytes_) {
      return ReadSome([](Connection& self) { self.ReadBody(); });
    }
    request_.body = input_.substr(0, body_bytes_);
    input_.erase(0, body_bytes_);
    ErrorCode ignored;
    timer_.cancel(ignored);
    waits_ = false;
    caller_ = request_.caller = std::make_shared<HttpCaller>();
    Watch();
    asio::post(shared_.pool, [self = shared_from_this()] { self->Handle(); });
  }

  // Whether the caller leaves while its request is handled.
  void Watch() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this(),
                                                caller = caller_](const ErrorCode& error) {
      if (error || self->closed_ || self->caller_ != caller) return;
      char byte = 0;
      const ssize_t size = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (size == 0) self->Close();
    });
  }

  // On a thread of the pool.
  void Handle() {
    Result<HttpAnswer> answer = base::InternalError("the request was not handled");
    try {
      answer = shared_.handler(request_);
    } catch (const std::exception& error) {  // of a library, most likely for want of memory
      answer = base::InternalError(Concat("the request failed: ", error.what()));
    }
    if (!answer.ok()) {
      answer = Refusal(HttpStatusOf(answer.status().code()), answer.status().message());
    } else if (!shared_.options.token.empty() && request_.parameters.count("token") > 0) {
      answer->headers.emplace_back("Set-Cookie", TokenCookie(shared_.options, shared_.port));
    }
    if (answer->stream && !is_head_only_) {
      if (shared_.streams.fetch_add(1) < kMaxStreams) {
        Stream(*answer);
        --shared_.streams;
        return;
      }
      --shared_.streams;
      answer = Refusal(503, "too many pages are open: close some");
    }
    if (request_.accepts_gzip) PackAnswer(*answer);
    asio::post(shared_.network, [self = shared_from_this(),
                                 taken = std::make_shared<HttpAnswer>(*std::move(answer))] {
      self->Write(*taken, self->keep_alive_);
    });
  }

  // Ends with the stream, or when the caller has left.
  void Stream(const HttpAnswer& answer) {
    bool is_taken = Send(AnswerHead(answer, {}, /*keep_alive=*/false));
    std::string piece;
    while (is_taken && !request_.caller->left()) {
      piece.clear();
      if (!answer.stream(piece)) {
        Send("0\r\n\r\n");
        break;
      }
      if (piece.empty()) continue;
      std::array<char, 20> size = {};
      std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
      is_taken = Send(Concat(size.data(), piece, "\r\n"));
    }
    asio::post(shared_.network, [self = shared_from_this()] { self->Close(); });
  }

  // From a thread of the pool: waits until the text is on its way; false where it is not taken.
  bool Send(std::string text) {
    auto done = std::make_shared<std::promise<bool>>();
    auto result = done->get_future();
    asio::post(shared_.network, [self = shared_from_this(), done,
                                 text = std::make_shared<std::string>(std::move(text))] {
      if (self->closed_) return done->set_value(false);
      self->SetDeadline(kWriteTime);
      asio::async_write(self->socket_, asio::buffer(*text),
                        [self, done, text](const ErrorCode& error, size_t) {
                          ErrorCode ignored;
                          self->timer_.cancel(ignored);
                          done->set_value(!error);
                        });
    });
    return result.get();
  }

  // Head and body are sent piece by piece, each with a time of its own.
  void Write(HttpAnswer& answer, bool keep_alive) {
    if (closed_) return;
    caller_ = nullptr;
    request_ = {};
    answer_ = std::move(answer);
    const std::string_view body =
        answer_.constant.empty() ? std::string_view(answer_.body) : answer_.constant;
    keep_alive_ = keep_alive && !shared_.stopping;
    head_ = AnswerHead(answer_, answer_.file ? answer_.file->size() : body.size(), keep_alive_);
    left_ = is_head_only_ ? std::string_view() : body;
    file_at_ = 0;
    if (answer_.file && !is_head_only_) return WriteNextOfFile();
    WriteNext();
  }

  void WriteNextOfFile() {
    file_piece_.resize(std::min<uint64_t>(kPieceBytes, answer_.file->size() - file_at_));
    if (!answer_.file->Read(file_at_, file_piece_)) return Close();
    const std::array<asio::const_buffer, 2> buffers = {
        asio::const_buffer(head_.data(), head_.size()),
        asio::const_buffer(file_piece_.data(), file_piece_.size())};
    SetDeadline(kWriteTime);
    asio::async_write(socket_, buffers,
                      [self = shared_from_this()](const ErrorCode& error, size_t) {
                        if (error || self->closed_) return self->Close();
                        self->head_.clear();
                        self->file_at_ += self->file_piece_.size();
                        if (self->file_at_ < self->answer_.file->size()) {
                          return self->WriteNextOfFile();
                        }
                        self->file_piece_ = {};
                        self->EndAnswer();
                      });
  }

  void WriteNext() {
    const std::string_view piece = left_.substr(0, kPieceBytes);
    const std::array<asio::const_buffer, 2> buffers = {
        asio::const_buffer(head_.data(), head_.size()),
        asio::const_buffer(piece.data(), piece.size())};
    SetDeadline(kWriteTime);
    asio::async_write(
        socket_, buffers,
        [self = shared_from_this(), size = piece.size()](const ErrorCode& error, size_t) {
          if (error || self->closed_) return self->Close();
          self->head_.clear();
          self->left_.remove_prefix(size);
          if (!self->left_.empty()) return self->WriteNext();
          self->EndAnswer();
        });
  }

  void EndAnswer() {
    answer_ = {};
    if (!keep_alive_) return Linger();
    waits_ = true;
    if (!input_.empty()) return Begin();
    SetDeadline(kIdleTime);
    ReadSome([](Connection& self) { self.Begin(); });
  }

  void Refuse(const HttpRefusal& refusal) {
    HttpAnswer answer = Refusal(refusal.status, refusal.message);
    is_head_only_ = false;
    Write(answer, /*keep_alive=*/false);
  }

  // Further input is discarded for a moment: closing at once would take the answer back.
  void Linger() {
    ErrorCode ignored;
    std::ignore = socket_.shutdown(tcp::socket::shutdown_send, ignored);
    input_.clear();
    discarded_ = 0;
    waits_ = true;
    SetDeadline(kLingerTime);
    Discard();
  }

  void Discard() {
    socket_.async_read_some(asio::buffer(piece_),
                            [self = shared_from_this()](const ErrorCode& error, size_t size) {
                              self->discarded_ += size;
                              if (error || self->closed_ || self->discarded_ > kDiscardBytes)
                                return self->Close();
                              self->Discard();
                            });
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  Shared& shared_;
  asio::ip::address address_;
  bool closed_ = false;
  bool waits_ = true;
  std::array<char, 16384> piece_ = {};
  std::string input_;  // that was read and not used
  HttpRequest request_;
  std::shared_ptr<HttpCaller> caller_;  // while a request is handled
  size_t body_bytes_ = 0;
  bool keep_alive_ = true;
  bool is_head_only_ = false;
  HttpAnswer answer_;  // while it is sent
  std::string head_;
  std::string_view left_;
  uint64_t file_at_ = 0;          // of answer_.file, that is sent
  std::vector<char> file_piece_;  // on its way
  size_t discarded_ = 0;
};

}  // namespace

Result<RequestHead> ParseHead(std::string_view text) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMaxHeadBytes + 1);
  parser.body_limit(std::numeric_limits<uint64_t>::max());  // Admit asks for the length
  ErrorCode error;
  parser.put(asio::const_buffer(text.data(), text.size()), error);
  // An apparent end may be none to the parser, as within a folded line.
  if (!parser.is_header_done()) {
    return base::InvalidArgumentError(Concat("not an HTTP request: ", error.message()));
  }
  RequestHead head;
  const auto& message = parser.get();
  head.method = std::string(message.method_string());
  head.target = std::string(message.target());
  head.keep_alive = message.keep_alive();
  head.content_length = parser.content_length().value_or(0);
  for (const auto& field : message) {
    const std::string name = base::ToLower(std::string(field.name_string()));
    std::string& value = head.headers[name];
    if (!value.empty()) value += ',';
    value += std::string(field.value());
    head.hosts += name == "host" ? 1 : 0;
  }
  return head;
}

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, HttpHandler handler)
      : shared_(std::move(options), std::move(handler)) {}

  ~Impl() {
    Stop();
    shared_.pool.join();
  }

  Status Bind() {
    const HttpOptions& options = shared_.options;
    ErrorCode error;
    tcp::resolver resolver(shared_.network);
    const auto found =
        resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
    if (!error && !found.empty()) {
      const tcp::endpoint endpoint = *found.begin();
      std::ignore = acceptor_.open(endpoint.protocol(), error);
      if (!error) std::ignore = acceptor_.set_option(asio::socket_base::reuse_address(true), error);
      if (!error) std::ignore = acceptor_.bind(endpoint, error);
      if (!error) std::ignore = acceptor_.listen(kBacklog, error);
    }
    if (error || found.empty()) {
      return base::UnavailableError(Concat("cannot listen on ", options.host, " port ",
                                           std::to_string(options.port),
                                           ": it is in use, or not an address of this machine"));
    }
    shared_.port = acceptor_.local_endpoint().port();
    return {};
  }

  int port() const { return shared_.port; }

  void Run() {
    Accept();
    std::jthread network([this] { shared_.network.run(); });
    {
      std::unique_lock lock(mutex_);
      stopped_.wait(lock, [this] { return is_stopped_; });
    }
    asio::post(shared_.network, [this] { CloseAll(); });
    // Handlers that still run send to connections that are closed.
    shared_.pool.join();
    asio::post(shared_.network, [this] { work_.reset(); });
  }

  void Stop() {
    const std::scoped_lock lock(mutex_);
    is_stopped_ = true;
    stopped_.notify_all();
  }

 private:
  void CloseAll() {
    shared_.stopping = true;
    ErrorCode ignored;
    std::ignore = acceptor_.close(ignored);
    const auto open = shared_.connections;
    for (const auto& connection : open) connection->Close();
  }

  // False where there are as many as may be, of this address or in all, and each is being answered.
  bool MakeRoom(const Connection& next) {
    auto& all = shared_.connections;
    const auto is_same = [&](const auto& other) { return other->address() == next.address(); };
    const auto of_machine = static_cast<size_t>(std::count_if(all.begin(), all.end(), is_same));
    const bool limits_machine = !next.address().is_loopback() && of_machine >= kMaxOfOneMachine;
    if (!limits_machine && all.size() < kMaxConnections) return true;
    const auto oldest = std::find_if(all.begin(), all.end(), [&](const auto& other) {
      return other->waits() && (!limits_machine || is_same(other));
    });
    if (oldest == all.end()) return false;
    const auto closed = (*oldest)->shared_from_this();  // which takes it off the list
    closed->Close();
    return true;
  }

  void Accept() {
    acceptor_.async_accept([this](const ErrorCode& error, tcp::socket socket) {
      if (shared_.stopping) return;
      if (!error) {
        auto connection = std::make_shared<Connection>(std::move(socket), shared_);
        if (MakeRoom(*connection)) {
          shared_.connections.push_back(connection);
          connection->Begin();
        }
        return Accept();
      }
      // Out of descriptors: a moment later some are free.
      pause_.expires_after(std::chrono::milliseconds(50));
      pause_.async_wait([this](const ErrorCode&) { Accept(); });
    });
  }

  Shared shared_;
  tcp::acceptor acceptor_{shared_.network};
  asio::steady_timer pause_{shared_.network};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
      asio::make_work_guard(shared_.network)};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopped_ = false;
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

}  // namespace sonde::serve
