// Settings of one session, owned: the C++ side of sonde_session_config.
#ifndef SONDE_RECORD_SESSION_CONFIG_H_
#define SONDE_RECORD_SESSION_CONFIG_H_

#include <cstdint>
#include <string>

#include "sonde/sonde.h"

namespace sonde::record {

inline constexpr uint32_t kFeatureMask = 0xffff;  // of the session word; above: session number

struct SessionConfig {
  uint32_t features = 0;
  std::string directory;
  std::string worker_name;
  std::string folder;
  std::string domain_include;
  std::string domain_exclude;
  std::string options;
  std::string span_suffix = "_ascend_pt";
  uint32_t ring_slots = 0;
  uint32_t keep_last_seconds = 0;
  uint64_t max_bytes = 0;

  // Fills in defaults; nullptr gives all of them. Accepts the shorter structs of older callers.
  static SessionConfig FromC(const sonde_session_config* config);
  // Points into this object.
  sonde_session_config ToC() const;
};

// Limits of every session: from $SONDE_PROFILE_MAX_SIZE ("4G", "500M", bytes) and
// $SONDE_PROFILE_MAX_SECONDS; 0: no limit. A value that is no number counts as 0 and is reported
// once.
struct Budget {
  uint64_t bytes = 0;
  uint64_t seconds = 0;
};
Budget BudgetOfEnvironment();

// Folder <directory>/<worker>_<pid>_<time><suffix>, or <directory>/<folder>. A child of a fork puts
// its pid into an explicit name. Creates it with its SONDE folder. 0 or a failure with text.
[[nodiscard]] int MakeSpanFolder(const SessionConfig& config, bool forked_child, std::string* path);

}  // namespace sonde::record

#endif  // SONDE_RECORD_SESSION_CONFIG_H_
