// Fuzz target of the recorder's untrusted inputs: requests to the control address, and options in
// their bodies and in profiler_config.json.
#include <cstdint>
#include <string>
#include <string_view>

#include "record/control_options.h"
#include "record/http_request.h"
#include "record/json.h"

namespace {

using namespace sonde::record;  // NOLINT(google-build-using-namespace)

void TakeOptions(std::string_view text) {
  const auto options = ParseJson(text);
  if (!options.ok()) return;
  SessionConfig config = SessionConfig::FromC(nullptr);
  ApplyOptions(*options, &config).IgnoreError();  // errors are reported; nothing may crash
  WithDefaults(std::string(text), *options, config.options);
  RankIsListed(options->Find("rank_list")).status().IgnoreError();
  if (const JsonValue* folder = options->Find("directory"); folder != nullptr) {
    ConfinedPath("/tmp", folder->text).status().IgnoreError();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HttpRequest request;
  HttpResponse refusal;
  for (const uint16_t port : {uint16_t{0}, uint16_t{8765}}) {
    if (ParseHttpRequest(text, port, &request, &refusal) == HttpParse::kDone) {
      TakeOptions(request.body);
    }
  }
  FormatHttpResponse(HttpError(400, text));
  TakeOptions(text);
  return 0;
}
