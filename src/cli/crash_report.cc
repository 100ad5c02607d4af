#include "cli/crash_report.h"

#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <csignal>
#include <string_view>

namespace sonde::cli {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void ReportCrashes() {}

#else

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kMaxFrames = 64;

void Write(std::string_view text) {
  // Nothing is left to do when even this fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string_view Explanation(int number) {
  // Input files are mapped into memory.
  if (number == SIGBUS) return "a file became shorter while it was read, or its disk failed";
  return "this is a bug in Sonde: please report it with the command and these lines";
}

// Where nothing can be executed, no call stack begins: but who called has left a way back.
[[maybe_unused]] void WriteCaller(const siginfo_t& info, const ucontext_t& context) {
#if defined(__x86_64__)
  const auto at = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  if (info.si_signo != SIGSEGV || at != reinterpret_cast<uintptr_t>(info.si_addr)) return;
  auto* const stack = std::bit_cast<void**>(context.uc_mcontext.gregs[REG_RSP]);
  ::backtrace_symbols_fd(stack, 1, STDERR_FILENO);
#endif
}

// Only calls that may be made in a signal handler; backtrace() has loaded what it needs before.
void Report(int number, siginfo_t* info, void* context) {
  Write("\nsonde: error: ");
  Write(Explanation(number));
  const std::array<char, 2> digits = {static_cast<char>('0' + number / 10),
                                      static_cast<char>('0' + number % 10)};
  Write(" (signal ");
  Write({digits.data(), digits.size()});
  Write(")\n");
  WriteCaller(*info, *static_cast<const ucontext_t*>(context));
  std::array<void*, kMaxFrames> frames;
  const int count = ::backtrace(frames.data(), kMaxFrames);
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  ::raise(number);  // SA_RESETHAND: its usual end, as soon as this handler returns
}

}  // namespace

void ReportCrashes() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  struct sigaction action = {};
  action.sa_sigaction = Report;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_SIGINFO);
  for (const int number : kSignals) ::sigaction(number, &action, nullptr);
}

#endif

}  // namespace sonde::cli
