// One request to a server of this machine: the control address of a program under Sonde.
//
// Threads: any. Errors: kUnavailable where nobody answers.
#pragma once

#include <string>

#include "base/status.h"

namespace sonde::serve {

struct HttpReply {
  int status = 0;
  std::string body;
};

// `address`: "http://127.0.0.1:PORT" or "unix:PATH".
Result<HttpReply> AskServer(const std::string& address, const std::string& method,
                            const std::string& path, const std::string& body, int seconds);

}  // namespace sonde::serve
