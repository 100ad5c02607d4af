#include "record/control_actions.h"

#include <errno.h>

#include "record/control_options.h"
#include "record/error.h"
#include "record/json.h"
#include "record/recorder.h"

namespace sonde::record {
namespace {

HttpResponse FromErrno(int result) {
  return HttpError(result == -EBUSY || result == -EALREADY ? 409 : 500, LastError());
}

HttpResponse FromStatus(const Status& status) {
  return HttpError(status.code() == StatusCode::kPermissionDenied ? 403 : 400, status.message());
}

// Reads the body into `config`; *listed false: the list of ranks excludes this one.
Status ReadBody(const std::string& body, SessionConfig* config, bool* listed) {
  *listed = true;
  if (body.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(const JsonValue options, ParseJson(body));
  SONDE_RETURN_IF_ERROR(ApplyOptions(options, config));
  if (const JsonValue* directory = options.Find("directory"); directory != nullptr) {
    if (!directory->Is(JsonValue::Type::kString)) {
      return base::InvalidArgumentError("directory must be a text");
    }
    SONDE_ASSIGN_OR_RETURN(config->directory, ConfinedPath(config->directory, directory->text));
  }
  SONDE_ASSIGN_OR_RETURN(*listed, RankIsListed(options.Find("rank_list")));
  config->options = WithDefaults(body, options, config->options);
  return {};
}

HttpResponse StartProfile(const std::string& body, SessionConfig config, Recorder* recorder) {
  bool listed = true;
  if (const Status status = ReadBody(body, &config, &listed); !status.ok()) {
    return FromStatus(status);
  }
  if (!listed) return {200, "{\"status\": \"rank not listed\"}"};
  if (const int result = recorder->Start(&config); result != 0) return FromErrno(result);
  return {200, "{\"status\": \"recording\", \"path\": " + QuoteJson(recorder->Path()) + "}"};
}

HttpResponse StopProfile(Recorder* recorder) {
  std::string path;
  const int result = recorder->Stop(&path);
  if (path.empty()) return FromErrno(result == 0 ? -EALREADY : result);
  std::string answer = "{\"path\": " + QuoteJson(path);
  // The part before the error is complete and readable.
  if (result != 0) answer += ", \"error\": " + QuoteJson(LastError());
  return {200, answer + "}"};
}

HttpResponse DescribeStatus(Recorder* recorder) {
  constexpr const char* kStates[] = {"idle", "prepared", "recording", "error"};
  sonde_session_status status{};
  recorder->GetStatus(&status);
  std::string text = "{\"state\": \"" + std::string(kStates[status.state & 3]) + "\"";
  const auto add = [&text](const char* key, int64_t value) {
    text += ", \"" + std::string(key) + "\": " + std::to_string(value);
  };
  add("pid", getpid());
  add("rank", ProcessRank().value_or(-1));
  add("sessions", static_cast<int64_t>(status.session_number));
  add("step", status.step);
  add("records", static_cast<int64_t>(status.records));
  add("dropped", static_cast<int64_t>(status.dropped));
  add("bytes", static_cast<int64_t>(status.bytes));
  return {200, text + ", \"path\": " + QuoteJson(recorder->Path()) + "}"};
}

}  // namespace

HttpResponse HandleControlRequest(const HttpRequest& request, const SessionConfig& defaults,
                                  Recorder* recorder) {
  struct Route {
    std::string_view method, path;
  };
  constexpr Route kStart{"POST", "/start_profile"};
  constexpr Route kStop{"POST", "/stop_profile"};
  constexpr Route kStatus{"GET", "/status"};
  for (const Route& route : {kStart, kStop, kStatus}) {
    if (request.path == route.path && request.method != route.method) {
      return HttpError(405, "use " + std::string(route.method) + " " + std::string(route.path));
    }
  }
  if (request.path == kStart.path) return StartProfile(request.body, defaults, recorder);
  if (request.path == kStop.path) return StopProfile(recorder);
  if (request.path == kStatus.path) return DescribeStatus(recorder);
  return HttpError(404, "known are POST /start_profile, POST /stop_profile, GET /status");
}

}  // namespace sonde::record
