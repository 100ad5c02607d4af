// Progress of long work on standard error.
//
// On a terminal one line that is redrawn: "Parsing: [####........] 1/3", at the end "Parsing:
// [############] 3/3 Done". Elsewhere (log file, pipe) plain lines, at most one for each tenth of
// the work: "Parsing: 1/3". Standard output stays free for results. Threads: Advance() may be
// called from any.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace sonde::base {

class ProgressBar {
 public:
  struct Options {
    std::FILE* out = nullptr;  // null: stderr
    enum class Mode { kAuto, kTerminal, kLines, kSilent } mode = Mode::kAuto;
  };

  // `total` counts what the user knows: ranks, files.
  ProgressBar(std::string title, uint64_t total, const Options& options);
  ProgressBar(std::string title, uint64_t total)
      : ProgressBar(std::move(title), total, Options()) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Leaves the line as it is: without Finish() the work did not end well.
  ~ProgressBar();

  void Advance(uint64_t done = 1);
  // Draws the full bar with "Done"; once.
  void Finish();

 private:
  void Draw(bool finished);

  const std::string title_;
  const uint64_t total_;
  std::FILE* const out_;
  Options::Mode mode_;
  std::mutex mutex_;
  uint64_t done_ = 0;
  uint64_t last_tenth_ = 0;
  bool line_open_ = false;
  bool finished_ = false;
};

}  // namespace sonde::base
