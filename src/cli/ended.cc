#include "cli/ended.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::cli {
namespace {

constexpr std::array kEndedBy = {SIGINT, SIGTERM, SIGHUP};

struct Digits {
  explicit Digits(int number) { std::to_chars(text.data(), text.data() + text.size() - 1, number); }
  std::array<char, 16> text = {};
};

// Only calls that may be made in a signal handler.
void BecomeRemover(int number) {
  for (const int other : kEndedBy) ::signal(other, SIG_IGN);  // until the files are gone
  const int list = ::memfd_create("temporaries", 0);  // stays open in the program that follows
  const Digits number_text(number);
  const Digits list_text(list);
  const std::array<const char*, 5> words = {"sonde", kEndArgument, number_text.text.data(),
                                            list_text.text.data(), nullptr};
  if (list >= 0 && base::WriteTemporaryFolders(list) > 0) {
    ::execv("/proc/self/exe", const_cast<char* const*>(words.data()));
  }
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

int RemoveTemporariesAndEnd(const char* signal_text, const char* list_text) {
  const auto number = static_cast<int>(base::ParseInt64(signal_text).value_or(0));
  // By its name it is read from the beginning.
  const auto list = base::ReadFile(base::Concat("/proc/self/fd/", list_text));
  const std::string folders = list.ok() ? *list : std::string();
  for (const std::string_view folder : base::Split(folders, '\0')) {
    if (!folder.empty()) base::RemoveOwnTemporaries(std::string(folder));
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
