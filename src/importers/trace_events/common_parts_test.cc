#include "importers/trace_events/common_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sonde::importers::trace_events {
namespace {

// Sets of integers, one value a place, and the results of End.
class CommonPartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int32_t& place : places_) place = parts_.AddPlace();
    last_ = parts_.AddPlace();
  }

  // The values that were taken for the part.
  std::vector<bool> Take(const std::vector<int64_t>& set) {
    std::vector<bool> taken;
    for (size_t i = 0; i < set.size(); ++i) {
      const std::string json = std::to_string(set[i]);
      ArgumentValue value;
      value.key = static_cast<int32_t>(i);
      value.integer = set[i];
      taken.push_back(parts_.Take(places_[i], json, value));
    }
    part_ = parts_.End(last_);
    return taken;
  }
  // The first two repeat, the third does not.
  void TeachThree() {
    for (int64_t i = 0; i < 300; ++i) Take({i % 3, 7, 1000 + i});
  }
  bool Repeats(const std::string& text) {
    const char* p = text.data();
    const bool repeats = parts_.TakeRepeated(places_[1], p, text.data() + text.size());
    parts_.End(last_);
    return repeats;
  }

  std::atomic<int32_t> next_id_ = CommonParts::kFirstId;
  CommonParts parts_{next_id_};
  std::array<int32_t, 3> places_ = {};
  int32_t last_ = -1;
  CommonParts::Part part_;
};

TEST_F(CommonPartsTest, RepeatedPartsAreReturnedAsNewOnce) {
  EXPECT_EQ(Take({1, 7, 1}), std::vector<bool>({false, false, false}));
  EXPECT_EQ(part_.id, store::kNone);
  TeachThree();
  EXPECT_EQ(Take({30, 7, 1}), std::vector<bool>({true, true, false}));
  EXPECT_TRUE(part_.is_new);
  ASSERT_EQ(part_.places.size(), 2U);
  EXPECT_EQ(parts_.ValueAt(part_.places[0]).integer, 30);
  EXPECT_EQ(parts_.ValueAt(part_.places[1]).integer, 7);
  const int32_t id = part_.id;
  EXPECT_LE(id, CommonParts::kFirstId);
  Take({31, 7, 2});
  EXPECT_TRUE(part_.is_new);
  EXPECT_NE(part_.id, id);
  Take({30, 7, 3});
  EXPECT_FALSE(part_.is_new);
  EXPECT_EQ(part_.id, id);
}

TEST_F(CommonPartsTest, OneValueIsNoPart) {
  TeachThree();
  Take({1});
  EXPECT_EQ(part_.id, store::kNone);
  ASSERT_EQ(part_.places.size(), 1U);
  EXPECT_EQ(parts_.ValueAt(part_.places[0]).integer, 1);
  EXPECT_TRUE(parts_.End(last_).places.empty()) << "a set without values gets those before it";
}

TEST_F(CommonPartsTest, PartsThatAllDifferAreGivenUp) {
  TeachThree();
  for (int64_t i = 0; i < 1000; ++i) Take({i, i, 1});
  EXPECT_EQ(Take({1, 7, 1}), std::vector<bool>({false, false, false}));
  EXPECT_FALSE(Repeats("7, \"next\": 123456789"));
}

TEST_F(CommonPartsTest, AValueRepeatsOnlyAsAWhole) {
  TeachThree();
  Take({1, 7, 1});
  EXPECT_TRUE(Repeats("7, \"next\": 123456789"));
  EXPECT_TRUE(Repeats("7}                    "));
  EXPECT_FALSE(Repeats("71, \"next\": 123456789"));
  EXPECT_FALSE(Repeats("7.5, \"next\": 12345678"));
  EXPECT_FALSE(Repeats("8, \"next\": 123456789"));
  EXPECT_FALSE(Repeats("7"));
}

TEST_F(CommonPartsTest, TextsOutliveTheirPlace) {
  for (int i = 0; i < 300; ++i) {
    std::string json = "\"text of a kernel that is longer than a word\"";
    ArgumentValue value;
    value.kind = ArgumentValue::Kind::kText;
    value.text = std::string_view(json).substr(1, json.size() - 2);
    parts_.Take(places_[0], json, value);
    parts_.Take(places_[1], json, value);
    part_ = parts_.End(last_);
    json.assign(json.size(), '?');
  }
  for (int i = 0; i < 1000; ++i) parts_.AddPlace();  // moves them all
  ASSERT_NE(part_.id, store::kNone);
  EXPECT_EQ(parts_.ValueAt(places_[1]).text, "text of a kernel that is longer than a word");
}

TEST_F(CommonPartsTest, PlacesAreBounded) {
  int32_t place = 0;
  int count = 0;
  while ((place = parts_.AddPlace()) != CommonParts::kNoPlace) ASSERT_LT(++count, 100000);
  EXPECT_FALSE(parts_.Take(place, "1", {}));
  const char* p = "1,";
  EXPECT_FALSE(parts_.TakeRepeated(place, p, p + 2));
}

}  // namespace
}  // namespace sonde::importers::trace_events
