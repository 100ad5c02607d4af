#include "base/host/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sonde::base {
namespace {
constexpr uint64_t kBarWidth = 40;
}  // namespace

ProgressBar::ProgressBar(std::string title, uint64_t total, const Options& options)
    : title_(std::move(title)),
      total_(total),
      out_(options.out == nullptr ? stderr : options.out),
      mode_(options.mode) {
  if (mode_ == Options::Mode::kAuto) {
    mode_ = isatty(fileno(out_)) == 1 ? Options::Mode::kTerminal : Options::Mode::kLines;
  }
  if (mode_ == Options::Mode::kTerminal) Draw(/*finished=*/false);
}

ProgressBar::~ProgressBar() {
  if (line_open_) std::fputc('\n', out_);
}

void ProgressBar::Advance(uint64_t done) {
  const std::lock_guard lock(mutex_);
  done_ = std::min(done_ + done, total_);
  if (!finished_) Draw(/*finished=*/false);
}

void ProgressBar::Finish() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(finished_, true)) return;
  done_ = total_;
  Draw(/*finished=*/true);
}

void ProgressBar::Draw(bool finished) {
  const auto done = static_cast<unsigned long long>(done_);
  const auto total = static_cast<unsigned long long>(total_);
  if (mode_ == Options::Mode::kTerminal) {
    const uint64_t filled = total_ == 0 ? kBarWidth : done_ * kBarWidth / total_;
    const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
    std::fprintf(out_, "\r%s: [%s] %llu/%llu%s", title_.c_str(), bar.c_str(), done, total,
                 finished ? " Done\n" : "");
    std::fflush(out_);
    line_open_ = !finished;
    return;
  }
  if (mode_ == Options::Mode::kSilent) return;
  const uint64_t tenth = total_ == 0 ? 10 : done_ * 10 / total_;
  // Finish() reports the last step, with "Done".
  if (!finished && (tenth == last_tenth_ || done_ == total_)) return;
  last_tenth_ = tenth;
  std::fprintf(out_, "%s: %llu/%llu%s\n", title_.c_str(), done, total, finished ? " Done" : "");
  std::fflush(out_);
}

}  // namespace sonde::base
