#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/test_folder.h"
#include "exporters/format/file_set.h"
#include "exporters/format/lanes.h"
#include "exporters/format/line_buffer.h"
#include "exporters/format/viewer_times.h"

namespace sonde::exporters {
namespace {

template <class Write>
std::string Written(Write&& write) {
  LineBuffer buffer(1);
  write(buffer);
  return std::string(buffer.text());
}

TEST(LineBuffer, Numbers) {
  const auto micros = [](int64_t ns) {
    return Written([&](LineBuffer& out) { out.Microseconds(ns); });
  };
  EXPECT_EQ(micros(1736408883688177930), "1736408883688177.930");
  EXPECT_EQ(micros(0), "0.000");
  EXPECT_EQ(micros(999999999), "999999.999");
  EXPECT_EQ(micros(1000000000), "1000000.000");
  EXPECT_EQ(micros(12000345678), "12000345.678");
  EXPECT_EQ(micros(-1234), "-1.234");
  const auto brief = [](int64_t ns) {
    return Written([&](LineBuffer& out) { out.MicrosecondsShort(ns); });
  };
  EXPECT_EQ(brief(145570), "145.57");
  EXPECT_EQ(brief(5000), "5.0");
  EXPECT_EQ(brief(20), "0.02");
  EXPECT_EQ(brief(119800), "119.8");
  EXPECT_EQ(brief(7), "0.007");
  EXPECT_EQ(Written([](LineBuffer& out) { out.MicrosecondsOrZero(0); }), "0");
  for (const int64_t value : {int64_t{0}, int64_t{9}, int64_t{10}, int64_t{99}, int64_t{100},
                              int64_t{12345}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(Written([&](LineBuffer& out) { out.Int(value); }), std::to_string(value));
  }
}

TEST(LineBuffer, TimesOfSeveralSecondsAndTextsOfAnySize) {
  std::string expected;
  LineBuffer out(1);
  for (const int64_t ns : {5'000'000'001, 5'999'999'999, 71'000'000'000, 5'000'001'000}) {
    out.Microseconds(ns);
    expected += std::to_string(ns / 1000) + "." + std::to_string(ns % 1000 + 1000).substr(1);
  }
  std::string text;
  for (int i = 0; i < 100; ++i) {
    out.Append(text);
    expected += text;
    text += static_cast<char>('!' + i % 90);
  }
  out.Append("literal");
  out.Replace(out.size() - 1, 'L');
  EXPECT_EQ(out.text(), expected + "literaL");
}

TEST(LineBuffer, CsvCell) {
  EXPECT_EQ(CsvCell("plain"), "plain");
  EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvCell("\"32,3\""), "\"\"\"32,3\"\"\"");
  EXPECT_EQ(CsvCell("a;\r\nb"), "\"a;\r\nb\"");
}

TEST(FileSet, PiecesInOrderWhateverTheThreads) {
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += std::to_string(i) + "\n";
  for (const int threads : {1, 4}) {
    const base::TestFolder folder;
    FileSet files(folder.path());
    for (const char* name : {"a.txt", "b.txt"}) {
      files.Add(name, 200, [](size_t piece, LineBuffer& out) {
        out.Int(static_cast<int64_t>(piece));
        out.Append('\n');
      });
    }
    ASSERT_TRUE(files.Write(threads).ok());
    EXPECT_EQ(base::ReadFile(folder.File("a.txt")).value(), expected);
    EXPECT_EQ(base::ReadFile(folder.File("b.txt")).value(), expected);
  }
}

TEST(FileSet, MissingFolderFails) {
  FileSet files("/nonexistent/folder");
  files.Add("a.txt", 1, [](size_t, LineBuffer& out) { out.Append('x'); });
  EXPECT_FALSE(files.Write(1).ok());
}

TEST(NestingLanes, NestedShareALaneAndCrossingDoNot) {
  NestingLanes lanes;
  EXPECT_EQ(lanes.Place(0, 100), 0U);
  EXPECT_EQ(lanes.Place(10, 50), 0U);
  EXPECT_EQ(lanes.Place(40, 60), 1U);
  EXPECT_EQ(lanes.Place(50, 100), 0U);
  EXPECT_EQ(lanes.Place(100, 110), 0U);
  EXPECT_EQ(lanes.size(), 2U);
}

TEST(ViewerTimes, AsPerfettoReadsThem) {
  // Seen in its tables for these texts.
  EXPECT_EQ(ViewerNs(1795279585200046644), 1795279585200046848);
  EXPECT_EQ(ViewerNs(1795279585200410881), 1795279585200411000);
  EXPECT_EQ(ViewerNs(1795279585200046000), 1795279585200046000);
}

// Whether events, in their order, nest or are disjoint.
bool Nests(const std::vector<std::pair<int64_t, int64_t>>& events) {
  std::vector<int64_t> open;
  for (const auto& [start, end] : events) {
    while (!open.empty() && open.back() <= start) open.pop_back();
    if (!open.empty() && end > open.back()) return false;
    open.push_back(end);
  }
  return true;
}

TEST(ViewerTimes, RandomTreesNestExactlyAndInTheViewer) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<RowEvent> events;
    int64_t now = 1795279585200000000 + static_cast<int64_t>(random() % 1000U);
    const auto add = [&](auto&& self, int depth) -> void {
      const size_t index = events.size();
      events.push_back({now, 0, 0});
      const unsigned children = depth < 5 ? random() % 4U : 0;
      for (unsigned i = 0; i < children; ++i) {
        now += static_cast<int64_t>(random() % 300U);
        self(self, depth + 1);
      }
      now += static_cast<int64_t>(random() % 700U);
      events[index].end_ns = now;
    };
    for (int i = 0; i < 5; ++i) {
      add(add, 0);
      now += static_cast<int64_t>(random() % 100U);
    }
    std::stable_sort(events.begin(), events.end(), [](const RowEvent& a, const RowEvent& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    FitDurations(events);
    std::vector<std::pair<int64_t, int64_t>> exact;
    std::vector<std::pair<int64_t, int64_t>> viewed;
    for (const RowEvent& event : events) {
      ASSERT_GE(event.dur_ns, 0);
      ASSERT_LE(event.dur_ns, std::max<int64_t>(event.end_ns - event.start_ns, 1));
      exact.emplace_back(event.start_ns, event.start_ns + event.dur_ns);
      viewed.emplace_back(ViewerNs(event.start_ns), ViewerNs(event.start_ns) + event.dur_ns);
    }
    EXPECT_TRUE(Nests(viewed));
    EXPECT_TRUE(Nests(exact));
  }
}

}  // namespace
}  // namespace sonde::exporters
