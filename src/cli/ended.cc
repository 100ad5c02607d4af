#include "cli/ended.h"

#include <unistd.h>

#include <array>
#include <csignal>

#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::cli {
namespace {

constexpr std::array kEndedBy = {SIGINT, SIGTERM, SIGHUP};

// Only calls that may be made in a signal handler.
void BecomeRemover(int number) {
  for (const int other : kEndedBy) ::signal(other, SIG_IGN);  // until the files are gone
  constexpr size_t kFixed = 3;
  std::array<char, 3> digits = {static_cast<char>('0' + number / 10),
                                static_cast<char>('0' + number % 10), '\0'};
  std::array<const char*, kFixed + base::kMostTemporaryFolders + 1> words = {"sonde", kEndArgument,
                                                                             digits.data()};
  size_t count = 0;
  while (const char* folder = base::TemporaryFolder(count)) words[kFixed + count++] = folder;
  if (count > 0) ::execv("/proc/self/exe", const_cast<char* const*>(words.data()));
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

void RemoveTemporariesAtSignals() {
  struct sigaction action = {};
  action.sa_handler = &BecomeRemover;
  for (const int number : kEndedBy) {
    struct sigaction before = {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_DFL) ::sigaction(number, &action, nullptr);
  }
}

int RemoveTemporariesAndEnd(char** arguments) {
  const char* const text = *arguments;
  const auto number = static_cast<int>(base::ParseInt64(text != nullptr ? text : "").value_or(0));
  for (char** folder = arguments; text != nullptr && *++folder != nullptr;) {
    base::RemoveOwnTemporaries(*folder);
  }
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::signal(number, SIG_DFL);
  ::raise(number);
  constexpr int kBySignal = 128;
  return kBySignal + number;
}

}  // namespace sonde::cli
