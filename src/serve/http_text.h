// The texts of HTTP: the contents of a request's head, whether the server admits it, and the head
// of an answer. No input or output. Pure, any thread. Private to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http.h"

namespace sonde::serve {

// A request without its body. Names of headers in lower case; one that came twice has "," between.
struct RequestHead {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;
  size_t hosts = 0;           // Host headers
  size_t content_length = 0;  // 0 where the request names none
  bool keep_alive = true;

  const std::string& Header(const std::string& name) const;  // "" where absent
};

struct HttpRefusal {
  int status = 400;
  std::string message;
};

// The head of a request with its empty line, by the library (http.cc).
Result<RequestHead> ParseHead(std::string_view text);

// Path and parameters, decoded; false where they are no path or no text.
bool ReadTarget(std::string_view target, HttpRequest& request);

// Whether a request may go on to its body: what it names, where it comes from, its token.
std::optional<HttpRefusal> Admit(const RequestHead& head, const HttpRequest& request,
                                 const HttpOptions& options, int port);

// The cookie that carries the token from then on.
std::string TokenCookie(const HttpOptions& options, int port);

int HttpStatusOf(StatusCode code);

// Packs a text of some length by gzip at its lowest level, a fiftieth of what Brotli takes at its
// highest; other answers stay as they are.
void PackAnswer(HttpAnswer& answer);

// Status line and headers, the empty line included. `length` absent: in pieces (chunked).
std::string AnswerHead(const HttpAnswer& answer, std::optional<size_t> length, bool keep_alive);

// Seen so far of a request's head: how many bytes it has (0: not whole yet), or what is wrong.
struct HeadEnd {
  size_t size = 0;
  std::optional<HttpRefusal> refusal;
};
HeadEnd FindHeadEnd(std::string_view input, size_t most);

}  // namespace sonde::serve
