// Actions of the control address: POST /start_profile, POST /stop_profile, GET /status.
#pragma once

#include "record/http_request.h"
#include "record/session_config.h"

namespace sonde::record {

class Recorder;

// `defaults`: the session that an empty body starts; a body's directory must be inside its
// directory.
HttpResponse HandleControlRequest(const HttpRequest& request, const SessionConfig& defaults,
                                  Recorder* recorder);

}  // namespace sonde::record
