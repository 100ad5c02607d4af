#include "importers/common/own_time.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/strings.h"

namespace sonde::importers {
namespace {

struct Op {
  int64_t ts;
  int64_t end;
  char name;
  bool is_work = true;
};

std::string Tasks(const std::vector<Op>& ops) {
  std::string text;
  const auto task = [&](int64_t ts, int64_t dur, char name) {
    text +=
        base::Concat(std::string(1, name), " ", std::to_string(ts), "+", std::to_string(dur), " ");
  };
  OwnTime<char> own;
  for (const Op& op : ops) own.Take(op.ts, op.end, op.name, op.is_work, task);
  own.End(task);
  return text;
}

TEST(OwnTime, ExcludesOperatorsInside) {
  EXPECT_EQ(Tasks({{0, 100, 'a'}, {10, 50, 'b'}, {20, 30, 'c'}, {60, 70, 'd'}, {200, 210, 'e'}}),
            "a 0+50 b 50+30 c 80+10 d 90+10 e 200+10 ");
  EXPECT_EQ(Tasks({{5, 5, 'a'}, {5, 9, 'b'}, {9, 9, 'c'}}), "a 5+0 b 5+4 c 9+0 ");
  EXPECT_EQ(Tasks({}), "");
}

TEST(OwnTime, CollectivesAreLeftFree) {
  EXPECT_EQ(Tasks({{0, 100, 'a'}, {20, 80, 'x', false}, {30, 40, 'i'}, {85, 95, 'b'}}),
            "a 0+30 b 80+10 ");
}

// Of any nesting: no overlap, nothing outside, the sum is the time inside of operators.
TEST(OwnTime, IsConserved) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Op> ops;
    std::vector<int64_t> ends;
    int64_t now = 0;
    int64_t outermost_ns = 0;
    for (int i = 0; i < 40; ++i) {
      now += random() % 4;
      while (!ends.empty() && ends.back() <= now) ends.pop_back();
      const int64_t room = ends.empty() ? 60 : ends.back() - now;
      const int64_t dur = static_cast<int64_t>(random()) % (room + 1);
      if (ends.empty()) outermost_ns += dur;
      ops.push_back({now, now + dur, 'o'});
      ends.push_back(now + dur);
    }
    int64_t sum_ns = 0;
    int64_t last_end = 0;
    size_t count = 0;
    const auto task = [&](int64_t ts, int64_t dur, char) {
      EXPECT_GE(ts, last_end);
      EXPECT_GE(ts, ops[count++].ts) << "a task begins before its operator";
      last_end = ts + dur;
      sum_ns += dur;
    };
    OwnTime<char> own;
    for (const Op& op : ops) own.Take(op.ts, op.end, op.name, op.is_work, task);
    own.End(task);
    EXPECT_EQ(count, ops.size());
    EXPECT_EQ(sum_ns, outermost_ns);
  }
}

}  // namespace
}  // namespace sonde::importers
