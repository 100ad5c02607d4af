#include "serve/http_text.h"

#include <sys/random.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kMaxTarget = 8192;
constexpr size_t kLeastPacked = 1400;  // bytes: less fits into one packet anyhow

bool SameText(std::string_view a, std::string_view b) {
  // Takes as long for a wrong token as for the right one.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Without "%" and "+"; nothing where it holds a broken escape or a zero.
std::optional<std::string> Decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) c = ' ';
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
      if (high < 0 || low < 0) return {};
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return {};
    out += c;
  }
  return out;
}

// Browsers send cookies to every port of a machine.
std::string CookieName(int port) { return Concat("sonde_token_", std::to_string(port)); }

std::string CookieOf(const RequestHead& head, int port) {
  const std::string wanted = Concat(CookieName(port), "=");
  for (std::string_view part : base::Split(head.Header("cookie"), ';')) {
    part = base::Trim(part);
    if (part.starts_with(wanted)) return std::string(part.substr(wanted.size()));
  }
  return {};
}

bool IsOurHost(const std::string& host, const HttpOptions& options, int number) {
  constexpr int kStandardPort = 80;  // that addresses leave out
  const std::string port = Concat(":", std::to_string(number));
  if (number == kStandardPort && host.find(':', host.find(']') + 1) == std::string::npos) {
    return IsOurHost(Concat(host, port), options, number);
  }
  return host == Concat("127.0.0.1", port) || host == Concat("localhost", port) ||
         host == Concat("[::1]", port) || host == Concat(options.host, port);
}

std::string_view ReasonOf(int status) {
  static constexpr std::array<std::pair<int, std::string_view>, 19> kReasons = {{
      {200, "OK"},
      {204, "No Content"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {413, "Payload Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
  }};
  for (const auto& [known, reason] : kReasons) {
    if (known == status) return reason;
  }
  return "Answer";
}

// A line break in a value would begin another header.
void AppendHeader(std::string& head, std::string_view name, std::string_view value) {
  head += Concat(name, ": ");
  for (const char c : value) head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  head += "\r\n";
}

// Faults of a head, independent of the request.
std::optional<HttpRefusal> CheckForm(const RequestHead& head) {
  if (head.target.size() > kMaxTarget) return HttpRefusal{414, "the address is too long"};
  if (head.hosts > 1) return HttpRefusal{400, "the host is named twice"};
  if (head.method != "GET" && head.method != "POST" && head.method != "HEAD") {
    return HttpRefusal{405, "only GET, HEAD and POST are answered"};
  }
  if (!head.Header("transfer-encoding").empty()) {
    return HttpRefusal{411, "the length of the body must be given"};
  }
  if (!head.Header("content-encoding").empty()) {
    return HttpRefusal{415, "bodies must not be compressed"};
  }
  if (!head.Header("expect").empty()) {
    return HttpRefusal{417, "send the body at once, without Expect"};
  }
  return {};
}

}  // namespace

const std::string& RequestHead::Header(const std::string& name) const {
  static const std::string none;
  const auto found = headers.find(name);
  return found == headers.end() ? none : found->second;
}

bool ReadTarget(std::string_view target, HttpRequest& request) {
  if (!target.starts_with('/')) return false;
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  const auto path = Decoded(target.substr(0, question), false);
  if (!path) return false;
  request.path = *path;
  if (question == std::string_view::npos) return true;
  for (const std::string_view part : base::Split(target.substr(question + 1), '&')) {
    const size_t equals = part.find('=');
    const auto name = Decoded(part.substr(0, equals), true);
    const auto value =
        equals == std::string_view::npos ? std::string() : Decoded(part.substr(equals + 1), true);
    if (!name || !value) return false;
    if (!name->empty()) request.parameters.emplace(*name, *value);
  }
  return true;
}

std::optional<HttpRefusal> Admit(const RequestHead& head, const HttpRequest& request,
                                 const HttpOptions& options, int port) {
  if (auto refusal = CheckForm(head)) return refusal;
  const std::string& host = head.Header("host");
  // With a token any name may be used, of a tunnel or of this machine: it is the token that keeps
  // foreign pages out.
  if (options.token.empty() && !IsOurHost(host, options, port)) {
    return HttpRefusal{403, "this server does not answer under that name"};
  }
  const std::string& origin = head.Header("origin");
  // By https where a tunnel speaks it for us.
  if (!origin.empty() && origin != Concat("http://", host) && origin != Concat("https://", host)) {
    return HttpRefusal{403, "requests of other pages are refused"};
  }
  if (!options.token.empty() && !SameText(request.Text("token"), options.token) &&
      !SameText(CookieOf(head, port), options.token)) {
    return HttpRefusal{401, "open the whole address that sonde view printed, with its token"};
  }
  if (head.content_length > options.max_body_bytes) {
    return HttpRefusal{413, "the body is too long"};
  }
  return {};
}

std::string TokenCookie(const HttpOptions& options, int port) {
  return Concat(CookieName(port), "=", options.token, "; HttpOnly; SameSite=Strict; Path=/");
}

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
    case StatusCode::kResourceExhausted:
      return 507;
    default:
      return 500;
  }
}

void PackAnswer(HttpAnswer& answer) {
  const bool is_text =
      answer.type.starts_with("application/json") || answer.type.starts_with("text/");
  if (!is_text || answer.is_gzip || answer.stream || answer.file ||
      answer.body.size() < kLeastPacked || answer.body.size() > UINT32_MAX / 2) {
    return;
  }
  constexpr int kGzip = 16;
  constexpr int kMemoryLevel = 8;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip + MAX_WBITS, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return;  // no memory for it: as it is
  }
  std::string packed(deflateBound(&stream, answer.body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(answer.body.data());
  stream.avail_in = static_cast<uInt>(answer.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return;
  answer.body = std::move(packed);
  answer.is_gzip = true;
}

std::string AnswerHead(const HttpAnswer& answer, std::optional<size_t> length, bool keep_alive) {
  std::string head =
      Concat("HTTP/1.1 ", std::to_string(answer.status), " ", ReasonOf(answer.status), "\r\n");
  AppendHeader(head, "Content-Type", answer.type);
  if (length) {
    AppendHeader(head, "Content-Length", std::to_string(*length));
  } else {
    AppendHeader(head, "Transfer-Encoding", "chunked");
  }
  AppendHeader(head, "X-Content-Type-Options", "nosniff");
  if (answer.is_gzip) {
    AppendHeader(head, "Content-Encoding", "gzip");
  }
  bool names_cache = false;
  for (const auto& [name, value] : answer.headers) {
    names_cache |= name == "Cache-Control";
    AppendHeader(head, name, value);
  }
  if (!names_cache) AppendHeader(head, "Cache-Control", "no-store");
  if (!keep_alive) AppendHeader(head, "Connection", "close");
  return head + "\r\n";
}

HeadEnd FindHeadEnd(std::string_view input, size_t most) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  if (!input.empty() && (input[0] < 'A' || input[0] > 'Z')) {
    return {0, HttpRefusal{400, "this is not an HTTP request"}};
  }
  const size_t end = input.find(kEnd);
  const std::string_view head = input.substr(0, end);
  for (size_t i = 0; i < head.size(); ++i) {
    const bool is_bare = head[i] == '\n' && (i == 0 || head[i - 1] != '\r');
    if (is_bare || head[i] == '\0') {
      return {0, HttpRefusal{400, "lines of a request end in CR LF and hold text"}};
    }
  }
  if (end == std::string_view::npos ? input.size() >= most : end > most) {
    return {0, HttpRefusal{431, "the head of the request is too long"}};
  }
  return {end == std::string_view::npos ? 0 : end + kEnd.size(), {}};
}

bool HttpCaller::left() const {
  const std::scoped_lock lock(mutex_);
  return left_;
}

void HttpCaller::WhenLeft(std::function<void()> action) {
  {
    const std::scoped_lock lock(mutex_);
    if (!left_ || !action) {
      action_ = std::move(action);
      return;
    }
  }
  action();
}

void HttpCaller::Leave() {
  const std::scoped_lock lock(mutex_);
  left_ = true;
  if (action_) std::exchange(action_, nullptr)();
}

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
