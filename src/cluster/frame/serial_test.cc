#include "cluster/frame/serial.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/frame/part.h"

namespace sonde::cluster {
namespace {

enum class Kind : uint8_t { kFew, kMany };

struct Inner {
  std::string name;
  std::optional<double> share;
  bool operator==(const Inner&) const = default;
};

struct Row {
  int64_t ns = 0;
  Kind kind = Kind::kFew;
  bool is_whole = false;
  Inner inner;
  std::vector<Inner> list;
  std::map<std::string, std::vector<int32_t>> by_name;
  std::set<uint16_t> numbers;
  std::pair<std::string, std::tuple<int8_t, float>> several;
  std::array<int32_t, 3> three{};
  bool operator==(const Row&) const = default;
};

Row Full() {
  return {.ns = std::numeric_limits<int64_t>::min(),
          .kind = Kind::kMany,
          .is_whole = true,
          .inner = {std::string("a\0b", 3), 0.1},
          .list = {{"", std::nullopt}, {"two", -0.0}},
          .by_name = {{"x", {1, -2}}, {"", {}}},
          .numbers = {1, 65535},
          .several = {"p", {int8_t{-7}, 1.5F}},
          .three = {3, 2, 1}};
}

std::string BytesOf(const Row& row) {
  std::string bytes;
  serial::Put(row, bytes);
  return bytes;
}

TEST(Serial, RoundTrips) {
  const std::string bytes = BytesOf(Full());
  std::string_view rest = bytes;
  Row row;
  row.list.resize(7);  // what was there goes
  ASSERT_TRUE(serial::Take(rest, row));
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(row, Full());
}

TEST(Serial, BytesThatEndEarlyAreRefused) {
  const std::string bytes = BytesOf(Full());
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string_view rest = std::string_view(bytes).substr(0, size);
    Row row;
    EXPECT_FALSE(serial::Take(rest, row)) << size;
  }
}

TEST(Serial, ASizeThatCannotBeAsksForNoMemory) {
  std::string bytes;
  serial::Put(std::numeric_limits<uint64_t>::max(), bytes);
  std::string_view rest = bytes;
  std::vector<int64_t> list;
  EXPECT_FALSE(serial::Take(rest, list));
  rest = bytes;
  std::string text;
  EXPECT_FALSE(serial::Take(rest, text));
}

TEST(Serial, StateOfThisProcessIsNotSent) {
  int here = 0;
  serial::Own<int*> own{&here};
  std::string bytes;
  serial::Put(own, bytes);
  EXPECT_TRUE(bytes.empty());
  std::string_view rest = bytes;
  EXPECT_TRUE(serial::Take(rest, own));
  EXPECT_EQ(own.value, &here);
}

TEST(Part, IsTheSameInAnotherProcess) {
  Part part;
  part.Rows<Row>() = {Full(), Row()};
  part.Rows<int64_t>() = {4, 5};
  Part sent;
  ASSERT_TRUE(sent.Read(part.Bytes()));
  EXPECT_FALSE(sent.empty());
  const Part& read = sent;
  EXPECT_EQ(read.Rows<Row>(), part.Rows<Row>());
  EXPECT_EQ(sent.Bytes(), part.Bytes());  // one list is made, the other still bytes
  EXPECT_EQ(sent.Rows<int64_t>(), part.Rows<int64_t>());
  EXPECT_TRUE(read.Rows<double>().empty());
  EXPECT_FALSE(Part().Read("no part"));
}

}  // namespace
}  // namespace sonde::cluster
