#include "base/host/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace sonde::base {
namespace {

template <class Work>
std::string Printed(ProgressBar::Options::Mode mode, uint64_t total, const Work& work) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  {
    ProgressBar bar("Parsing", total, {.out = file.get(), .mode = mode});
    work(bar);
  }
  EXPECT_EQ(std::fseek(file.get(), 0, SEEK_SET), 0);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

TEST(ProgressBar, PlainLinesWithoutTerminal) {
  EXPECT_EQ(Printed(ProgressBar::Options::Mode::kAuto, 3,
                    [](ProgressBar& bar) {
                      for (int i = 0; i < 3; ++i) bar.Advance();
                      bar.Finish();
                      bar.Finish();
                    }),
            "Parsing: 1/3\nParsing: 2/3\nParsing: 3/3 Done\n");
}

TEST(ProgressBar, PlainLinesStayFew) {
  const std::string text = Printed(ProgressBar::Options::Mode::kLines, 10000, [](ProgressBar& bar) {
    for (int i = 0; i < 10000; ++i) bar.Advance();
    bar.Finish();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(ProgressBar, TerminalLineIsRedrawn) {
  const std::string text =
      Printed(ProgressBar::Options::Mode::kTerminal, 2, [](ProgressBar& bar) { bar.Advance(); });
  EXPECT_EQ(text, "\rParsing: [" + std::string(40, '.') + "] 0/2\rParsing: [" +
                      std::string(20, '#') + std::string(20, '.') + "] 1/2\n");
  EXPECT_TRUE(Printed(ProgressBar::Options::Mode::kTerminal, 0, [](ProgressBar& bar) {
                bar.Finish();
              }).ends_with("0/0 Done\n"));
}

}  // namespace
}  // namespace sonde::base
