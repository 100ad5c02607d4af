// Control by environment variables, as sonde.h lists them; part of the shared library only. A
// setting that cannot be used is reported in one line on standard error, and the program goes on.
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "record/control_options.h"
#include "record/error.h"
#include "sonde/sonde.h"

namespace {

using sonde::record::PrintMessage;

std::string_view Variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

template <class T>
void ReadNumber(const char* name, T* value) {
  const std::string_view text = Variable(name);
  if (text.empty()) return;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && rest == text.data() + text.size()) return;
  *value = 0;
  PrintMessage("%s='%s' is not a number and is ignored", name, std::string(text).c_str());
}

// "0,3" against this process's rank.
bool RankIsWanted() {
  const std::string_view list = Variable("SONDE_RANKS");
  const auto rank = sonde::record::ProcessRank();
  if (list.empty() || !rank.has_value()) return true;
  const std::string wanted = "," + std::to_string(*rank) + ",";
  return ("," + std::string(list) + ",").find(wanted) != std::string::npos;
}

void Report(const char* what, int result) {
  if (result != 0) PrintMessage("%s: %s", what, sonde_last_error());
}

__attribute__((constructor)) void ReadEnvironment() {
  // Under `sonde run` the start-up hook of Python decides when this library, which it loads,
  // records.
  const std::string_view attach = Variable("SONDE_ATTACH");
  if (!attach.empty() && attach != "0") return;
  const bool record = Variable("SONDE_RECORD") == "1";
  const std::string_view address = Variable("SONDE_CONTROL");
  const std::string_view folder = Variable("SONDE_CONFIG_PATH");
  if (!record && address.empty() && folder.empty()) return;

  sonde_session_config config{};
  config.struct_size = sizeof(config);
  config.features = SONDE_FEATURE_RECORDING | SONDE_FEATURE_SHAPES | SONDE_FEATURE_STACKS |
                    SONDE_FEATURE_MEMORY | SONDE_FEATURE_MODULES | SONDE_FEATURE_OPS |
                    SONDE_FEATURE_MARKERS;
  ReadNumber("SONDE_RING_SLOTS", &config.ring_slots);
  ReadNumber("SONDE_KEEP_LAST_SECONDS", &config.keep_last_seconds);
  ReadNumber("SONDE_MAX_BYTES", &config.max_bytes);
  if (!address.empty()) Report("SONDE_CONTROL", sonde_control_listen(address.data(), &config));
  if (!folder.empty()) Report("SONDE_CONFIG_PATH", sonde_dynamic_watch(folder.data(), &config));
  if (record && RankIsWanted()) Report("SONDE_RECORD", sonde_session_start(&config));
}

}  // namespace
