// GET /api/names?ids=trace:1.2.3,trace:4,...: texts of names, in the order asked for.
#include "base/strings.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

Status NoNumbers() {
  return base::InvalidArgumentError("'ids' must be trace:name.name...,... in numbers");
}

}  // namespace

Result<HttpAnswer> HandleNames(Session& session, const HttpRequest& request) {
  const std::string ids = request.Text("ids");
  std::vector<std::string> names;
  for (const std::string_view of_trace : base::Split(ids, ',')) {
    const auto parts = base::Split(of_trace, ':');
    const auto id = base::ParseInt64(parts[0]);
    if (!id || parts.size() != 2) return NoNumbers();
    SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(*id));
    for (const std::string_view text : base::Split(parts[1], '.')) {
      const auto name = base::ParseInt64(text);
      if (!name || *name < 0 || *name > INT32_MAX) return NoNumbers();
      names.push_back(trace->Name(static_cast<int32_t>(*name)));
    }
  }
  return HttpAnswer{.body = ToJson(names)};
}

}  // namespace sonde::serve
