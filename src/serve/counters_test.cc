#include "serve/counters.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "store/table_writer.h"

namespace sonde::serve {
namespace {

class CountersTest : public ::testing::Test {
 protected:
  // Three counters with a value each 10 ns: 0, 1, 2, ... 999.
  void SetUp() override {
    store_ = std::move(*store::Store::Create(folder_.File("s.duckdb")));
    auto transaction = store_->Begin();
    auto writer = store::TableWriter<store::CounterRow>::Open(*transaction);
    for (int32_t track = 0; track < 3; ++track) {
      for (int i = 0; i < 1000; ++i)
        writer->Append({.ts = 5'000 + i * 10, .track_id = track, .value = static_cast<double>(i)});
    }
    ASSERT_TRUE(writer->Close().ok() && transaction->Commit().ok());
    ASSERT_TRUE(store_->Publish().ok());
  }

  std::vector<CounterPoint> Curve(const Counters& counters, int32_t track,
                                  const CounterWindow& window) {
    auto points = counters.Curve(*store_, track, window);
    EXPECT_TRUE(points.ok()) << points.status().message();
    return points.ok() ? *points : std::vector<CounterPoint>();
  }

  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(CountersTest, DrawTheSameFromMemoryAndFromTheDatabase) {
  const Counters kept;
  const Counters asked(999);
  for (const CounterWindow& window :
       {CounterWindow{5'000, 15'000, 1'000}, CounterWindow{6'000, 7'000, 100},
        CounterWindow{5'000, 5'100, 1}, CounterWindow{0, 100, 1},
        CounterWindow{20'000, 30'000, 7}}) {
    SCOPED_TRACE(window.begin_ns);
    const auto a = Curve(kept, 1, window);
    const auto b = Curve(asked, 1, window);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].ts, b[i].ts);
      EXPECT_EQ(a[i].low, b[i].low);
      EXPECT_EQ(a[i].high, b[i].high);
      EXPECT_EQ(a[i].last, b[i].last);
    }
  }
  EXPECT_EQ(kept.kept(), 1000U);
  EXPECT_EQ(asked.kept(), 0U) << "too long to be kept";
  const auto points = Curve(asked, 2, {6'000, 7'000, 100});
  ASSERT_EQ(points.size(), 11U);
  EXPECT_EQ(points[0].ts, 5'990) << "reaches in";
  EXPECT_EQ(points[1].low, 100);
  EXPECT_EQ(points[1].high, 109);
  EXPECT_EQ(points[1].last, 109);
}

TEST_F(CountersTest, MemoryIsBounded) {
  const Counters counters(1000, 2500);
  for (int round = 0; round < 3; ++round) {
    for (int32_t track = 0; track < 3; ++track) {
      EXPECT_EQ(Curve(counters, track, {5'000, 15'000, 10'000}).size(), 1U);
      EXPECT_LE(counters.kept(), 2500U);
    }
  }
  EXPECT_TRUE(Curve(counters, 77, {0, 100'000, 10}).empty()) << "there is no such counter";
}

}  // namespace
}  // namespace sonde::serve
