// Just enough HTTP/1.1 for the control address: one request a connection, bounded in size.
//
// Refuses chunked bodies and foreign Host or Origin headers, which a local client never sends (a
// web page in a browser must not start or stop anything). Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::record {

inline constexpr size_t kMaxRequestHead = 8 * 1024;
inline constexpr size_t kMaxRequestBody = 64 * 1024;

struct HttpRequest {
  std::string method;
  std::string path;  // without query
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string body;  // JSON
};

enum class HttpParse { kNeedMore, kNeedContinue, kDone, kRefused };

// Looks at the bytes received so far. `port` is ours, 0 on a unix socket (where Host is free).
// kNeedContinue: the client waits for "100 Continue" before it sends the body. kRefused fills
// `refusal`.
HttpParse ParseHttpRequest(std::string_view bytes, uint16_t port, HttpRequest* request,
                           HttpResponse* refusal);

std::string FormatHttpResponse(const HttpResponse& response);

// {"error": "..."}
HttpResponse HttpError(int status, std::string_view message);

}  // namespace sonde::record
