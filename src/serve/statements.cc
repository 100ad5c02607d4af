#include "serve/statements.h"

namespace sonde::serve {

Result<std::shared_ptr<const store::UserStatements>> StoreFor(Session& session,
                                                              const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(int64_t id, request.Int("trace", -1));
  if (id == kWholeLake) return session.Lake();
  const auto ready = session.Ready();
  if (id < 0 && ready.size() == 1) id = ready[0]->id;
  if (id < 0) return session.AllRanks();
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  return trace->User();
}

}  // namespace sonde::serve
