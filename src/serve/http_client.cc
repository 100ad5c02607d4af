#include "serve/http_client.h"

#include <httplib.h>

#include "base/strings.h"

namespace sonde::serve {

Result<HttpReply> AskServer(const std::string& address, const std::string& method,
                            const std::string& path, const std::string& body, int seconds) {
  constexpr std::string_view kUnix = "unix:";
  const bool is_unix = address.starts_with(kUnix);
  httplib::Client client(is_unix ? address.substr(kUnix.size()) : address);
  if (!client.is_valid()) {
    return base::InvalidArgumentError(base::Concat("'", address, "' is no address"));
  }
  if (is_unix) {
    client.set_address_family(AF_UNIX);
    client.set_default_headers({{"Host", "localhost"}});
  }
  client.set_connection_timeout(1);
  client.set_read_timeout(seconds);
  const httplib::Result reply = method == "POST"
                                    ? client.Post(path.c_str(), body, "application/json")
                                    : client.Get(path.c_str());
  if (!reply) {
    return base::UnavailableError(
        base::Concat("nobody answers at ", address, " (", httplib::to_string(reply.error()), ")"));
  }
  return HttpReply{reply->status, reply->body};
}

}  // namespace sonde::serve
