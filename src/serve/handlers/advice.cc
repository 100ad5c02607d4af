// GET /api/advice?lang=en|zh: what importers advise, by the text that is in the tables.
#include "recipes/finding/advice.h"

#include "serve/handlers.h"
#include "serve/result_message.h"

namespace sonde::serve {

Result<HttpAnswer> HandleAdvice(Session& /*session*/, const HttpRequest& request) {
  const recipes::Language language = LanguageOf(request.Text("lang"));
  std::vector<AdviceMessage> messages;
  for (const auto& [english, chinese] : recipes::KnownAdvice()) {
    const auto text = language == recipes::Language::kChinese ? chinese : english;
    messages.push_back({.advice = std::string(english), .text = std::string(text)});
  }
  return HttpAnswer{.body = ToJson(messages)};
}

}  // namespace sonde::serve
