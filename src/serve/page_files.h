// The page itself: the files that the build made of web/, within the program.
//
// A build without Node.js has none of them; then one page explains how to get it. Constant; any
// thread.
#pragma once

#include "serve/http.h"

namespace sonde::serve {

bool HasPage();
// "/" and the files it names; kNotFound for others.
Result<HttpAnswer> PageFile(const HttpRequest& request);

}  // namespace sonde::serve
