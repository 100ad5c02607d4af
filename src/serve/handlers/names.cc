// GET /api/names?trace=&ids=1,2,...: texts of names, in the order asked for.
#include "base/strings.h"
#include "serve/handlers.h"

namespace sonde::serve {

Result<HttpAnswer> HandleNames(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  const std::string ids = request.Text("ids");
  std::vector<std::string> names;
  for (const std::string_view text : base::Split(ids, ',')) {
    const auto name = base::ParseInt64(text);
    if (!name || *name < 0 || *name > INT32_MAX) {
      return base::InvalidArgumentError("'ids' must be numbers of names");
    }
    names.push_back(trace->Name(static_cast<int32_t>(*name)));
  }
  return HttpAnswer{.body = ToJson(names)};
}

}  // namespace sonde::serve
