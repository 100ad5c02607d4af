#include "record/http_request.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "record/json.h"

namespace sonde::record {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Header fields by lower-case name. False: malformed, or a field twice.
bool ParseFields(std::string_view text, std::map<std::string, std::string>* fields) {
  while (!text.empty()) {
    const size_t end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line[0] == ' ' || line[0] == '\t' ||
        line[colon - 1] == ' ') {
      return false;
    }
    const std::string name = Lower(line.substr(0, colon));
    const auto [it, is_new] = fields->emplace(name, Trim(line.substr(colon + 1)));
    if (!is_new && (name == "host" || name == "content-length" || name == "origin")) return false;
  }
  return true;
}

// This machine by any of its names, with our port or none.
bool IsOurHost(std::string_view host, uint16_t port) {
  const std::string suffix = ":" + std::to_string(port);
  if (host.size() > suffix.size() && host.substr(host.size() - suffix.size()) == suffix) {
    host.remove_suffix(suffix.size());
  }
  const std::string name = Lower(host);
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

bool IsOurOrigin(std::string_view origin, uint16_t port) {
  constexpr std::string_view kScheme = "http://";
  return origin.substr(0, kScheme.size()) == kScheme &&
         IsOurHost(origin.substr(kScheme.size()), port);
}

HttpParse Refuse(int status, std::string_view message, HttpResponse* refusal) {
  *refusal = HttpError(status, message);
  return HttpParse::kRefused;
}

bool ParseRequestLine(std::string_view line, HttpRequest* request) {
  const size_t first = line.find(' ');
  const size_t second = line.rfind(' ');
  if (first == std::string_view::npos || second <= first + 1) return false;
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  request->method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  request->path = target.substr(0, target.find('?'));
  return target[0] == '/';
}

const char* Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

HttpParse ParseHttpRequest(std::string_view bytes, uint16_t port, HttpRequest* request,
                           HttpResponse* refusal) {
  const size_t head_end = bytes.find("\r\n\r\n");
  if (std::min(head_end, bytes.size()) > kMaxRequestHead) {
    return Refuse(431, "the request head is too large", refusal);
  }
  if (head_end == std::string_view::npos) return HttpParse::kNeedMore;
  const std::string_view head = bytes.substr(0, head_end);
  const size_t line_end = head.find("\r\n");
  std::map<std::string, std::string> fields;
  if (!ParseRequestLine(head.substr(0, line_end), request) ||
      (line_end != std::string_view::npos && !ParseFields(head.substr(line_end + 2), &fields))) {
    return Refuse(400, "this is not an HTTP/1.1 request", refusal);
  }
  if (port != 0 && (fields.count("host") == 0 || !IsOurHost(fields["host"], port))) {
    return Refuse(403, "the Host header must name this machine", refusal);
  }
  if (fields.count("origin") != 0 && !IsOurOrigin(fields["origin"], port)) {
    return Refuse(403, "requests of web pages are refused", refusal);
  }
  if (fields.count("transfer-encoding") != 0) {
    return Refuse(411, "send the body with Content-Length", refusal);
  }
  size_t length = 0;
  if (const auto field = fields.find("content-length"); field != fields.end()) {
    const std::string& text = field->second;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error == std::errc::result_out_of_range || length > kMaxRequestBody) {
      return Refuse(413, "the body is too large", refusal);
    }
    if (error != std::errc() || rest != text.data() + text.size()) {
      return Refuse(400, "bad Content-Length", refusal);
    }
  }
  const std::string_view body = bytes.substr(head_end + 4);
  if (body.size() < length) {
    const bool waits = Lower(fields["expect"]) == "100-continue" && body.empty();
    return waits ? HttpParse::kNeedContinue : HttpParse::kNeedMore;
  }
  request->body = body.substr(0, length);
  return HttpParse::kDone;
}

std::string FormatHttpResponse(const HttpResponse& response) {
  return "HTTP/1.1 " + std::to_string(response.status) + " " + Reason(response.status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(response.body.size() + 1) +
         "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n" + response.body + "\n";
}

HttpResponse HttpError(int status, std::string_view message) {
  return {status, "{\"error\": " + QuoteJson(message) + "}"};
}

}  // namespace sonde::record
