#include "cluster/frame/columns.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/frame/part.h"

namespace sonde::cluster {
namespace {

enum class Size : uint8_t { kFew, kMany };

struct Inner {
  std::string name;
  std::optional<double> share;
  bool operator==(const Inner&) const = default;
};

struct AnyRow {
  int64_t ns = 0;
  uint64_t hash = 0;
  Size size = Size::kFew;
  bool is_whole = false;
  Inner inner;
  std::vector<Inner> list;
  std::map<std::string, std::vector<int32_t>> by_name;
  std::set<uint16_t> numbers;
  std::pair<std::string, std::tuple<int8_t, float>> several;
  std::array<int32_t, 3> three{};
  bool operator==(const AnyRow&) const = default;
};

AnyRow Full() {
  return {.ns = std::numeric_limits<int64_t>::min(),
          .hash = std::numeric_limits<uint64_t>::max(),
          .size = Size::kMany,
          .is_whole = true,
          .inner = {std::string("a\0b", 3), 0.1},
          .list = {{"", std::nullopt}, {"two", -0.0}},
          .by_name = {{"x", {1, -2}}, {"", {}}},
          .numbers = {1, 65535},
          .several = {"p", {int8_t{-7}, 1.5F}},
          .three = {3, 2, 1}};
}

TEST(Columns, RoundTrip) {
  auto column = columns::Empty<AnyRow>("row");
  columns::Put(AnyRow(), column);
  columns::Put(Full(), column);
  columns::Put(AnyRow(), column);
  AnyRow row;
  row.list.resize(7);  // what was there goes
  ASSERT_TRUE(columns::Take(column, 1, row));
  EXPECT_EQ(row, Full());
  ASSERT_TRUE(columns::Take(column, 2, row));
  EXPECT_EQ(row, AnyRow());
  EXPECT_FALSE(columns::Take(column, 3, row));
}

TEST(Columns, HaveTheNamesOfMembers) {
  const auto column = columns::Empty<AnyRow>("row");
  ASSERT_EQ(column.children.size(), 10U);
  EXPECT_EQ(column.children[0].name, "ns");
  EXPECT_EQ(column.children[6].name, "by_name");
  EXPECT_EQ(column.children[4].children[1].name, "share");
  EXPECT_EQ(columns::TypeName<AnyRow>(), "AnyRow");
}

TEST(Columns, OfAnotherTypeAreRefused) {
  auto column = columns::Empty<Inner>("inner");
  columns::Put(Inner{"a", 1.0}, column);
  AnyRow row;
  EXPECT_FALSE(columns::Take(column, 0, row));
  EXPECT_FALSE(column.HasTypeOf(columns::Empty<AnyRow>("row")));
  std::vector<int64_t> list;
  EXPECT_FALSE(columns::Take(column, 0, list));
}

TEST(Columns, StateOfThisProcessIsNotKept) {
  struct WithState {
    int64_t number = 0;
    columns::Own<int*> own;
  };
  int here = 0;
  auto column = columns::Empty<WithState>("state");
  columns::Put(WithState{4, {&here}}, column);
  EXPECT_EQ(column.children.size(), 1U);
  WithState state{0, {&here}};
  EXPECT_TRUE(columns::Take(column, 0, state));
  EXPECT_EQ(state.number, 4);
  EXPECT_EQ(state.own.value, &here);
}

TEST(Part, IsTheSameFromColumns) {
  Part first;
  first.Rows<AnyRow>() = {Full(), AnyRow()};
  Part second;
  second.Rows<Inner>() = {{"x", std::nullopt}};
  ListColumns lists;
  first.AppendTo(lists, 0);
  second.AppendTo(lists, 2);  // a rank between them has nothing
  for (auto& [name, column] : lists) Part::Pad(column, 3);
  const auto kept = std::make_shared<const ListColumns>(std::move(lists));
  const Part read(kept, 0);
  EXPECT_FALSE(read.empty());
  EXPECT_EQ(read.Rows<AnyRow>(), first.Rows<AnyRow>());
  EXPECT_TRUE(read.Rows<Inner>().empty());
  EXPECT_TRUE(read.Rows<double>().empty());
  EXPECT_TRUE(Part(kept, 1).empty());
  EXPECT_EQ(Part(kept, 2).Rows<Inner>(), second.Rows<Inner>());
}

}  // namespace
}  // namespace sonde::cluster
