#include "serve/http_client.h"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

#include "base/strings.h"

namespace sonde::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using ClientError = boost::system::error_code;

constexpr uint64_t kMaxReplyBytes = uint64_t{16} << 20U;
constexpr auto kConnectTime = std::chrono::seconds(1);

// Connects by `connect` (stream, callback), asks and reads; the stream ends what takes too long.
template <class Stream, class Connect>
Result<HttpReply> Ask(Connect connect, const http::request<http::string_body>& request,
                      const std::string& address, int seconds) {
  asio::io_context context;
  Stream stream(context);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxReplyBytes);
  ClientError failure;
  bool done = false;
  stream.expires_after(kConnectTime);
  connect(stream, [&](const ClientError& error) {
    failure = error;
    if (failure) return;
    stream.expires_after(std::chrono::seconds(seconds));
    http::async_write(stream, request, [&](const ClientError& written, size_t) {
      failure = written;
      if (failure) return;
      http::async_read(stream, buffer, parser, [&](const ClientError& read, size_t) {
        failure = read;
        done = !read;
      });
    });
  });
  context.run();
  if (!done) {
    return base::UnavailableError(
        base::Concat("nobody answers at ", address, " (", failure.message(), ")"));
  }
  return HttpReply{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

}  // namespace

Result<HttpReply> AskServer(const std::string& address, const std::string& method,
                            const std::string& path, const std::string& body, int seconds) {
  constexpr std::string_view kUnix = "unix:";
  constexpr std::string_view kHttp = "http://";
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(path);
  if (method == "POST") {
    request.body() = body;
    request.set(http::field::content_type, "application/json");
    request.prepare_payload();
  }
  if (address.starts_with(kUnix)) {
    using Protocol = asio::local::stream_protocol;
    request.set(http::field::host, "localhost");
    const std::string socket = address.substr(kUnix.size());
    if (socket.empty() || socket.size() >= sizeof(sockaddr_un{}.sun_path)) {
      return base::InvalidArgumentError(base::Concat("'", address, "' is no address"));
    }
    return Ask<beast::basic_stream<Protocol>>(
        [&](auto& stream, auto then) {
          stream.async_connect(Protocol::endpoint(socket), std::move(then));
        },
        request, address, seconds);
  }
  std::string_view host = address;
  if (host.starts_with(kHttp)) host.remove_prefix(kHttp.size());
  host = host.substr(0, host.find('/'));
  const size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || !base::ParseInt64(host.substr(colon + 1))) {
    return base::InvalidArgumentError(base::Concat("'", address, "' is no address"));
  }
  request.set(http::field::host, boost::string_view(host.data(), host.size()));
  std::string name(host.substr(0, colon));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  asio::io_context context;
  ClientError error;
  const auto found = asio::ip::tcp::resolver(context).resolve(name, host.substr(colon + 1), error);
  if (error) {
    return base::UnavailableError(
        base::Concat("nobody answers at ", address, " (", error.message(), ")"));
  }
  return Ask<beast::tcp_stream>(
      [&](auto& stream, auto then) {
        stream.async_connect(found, [then = std::move(then)](const ClientError& failed,
                                                             const auto&) { then(failed); });
      },
      request, address, seconds);
}

}  // namespace sonde::serve
