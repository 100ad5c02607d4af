// Fuzz target of the page's server: heads of requests, their addresses, and what is admitted.
#include <cstdint>
#include <string_view>

#include "serve/http_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde::serve;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMostBytes = 32768;
  const HeadEnd end = FindHeadEnd(text, kMostBytes);
  HttpRequest request;
  ReadTarget(text, request);
  if (end.refusal || end.size == 0) return 0;
  const auto head = ParseHead(text.substr(0, end.size));
  if (!head.ok() || !ReadTarget(head->target, request)) return 0;
  const HttpOptions with_token = {.token = "secret"};
  Admit(*head, request, with_token, 9000);
  Admit(*head, request, {}, 9000);
  const HttpAnswer answer = {.headers = {{"X", std::string(text)}}};
  AnswerHead(answer, size, head->keep_alive);
  return 0;
}
