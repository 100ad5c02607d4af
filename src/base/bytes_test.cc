#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace sonde::base {
namespace {

TEST(Bytes, LoadsAndStoresUnaligned) {
  std::array<unsigned char, 9> bytes{};
  StoreLe<uint32_t>(bytes.data() + 1, 0x01020304U);
  EXPECT_EQ(bytes[1], 4);
  EXPECT_EQ(LoadLe<uint16_t>(bytes.data() + 2), 0x0203);
}

TEST(ByteReader, ReadsInOrder) {
  const std::string text(
      "\x01\x02\x00"
      "abc"
      "\xac\x02",
      8);
  ByteReader reader(text);
  EXPECT_EQ(reader.Read<uint8_t>(), 1);
  EXPECT_EQ(reader.Read<uint16_t>(), 2);
  EXPECT_EQ(reader.ReadText(3), "abc");
  EXPECT_EQ(reader.ReadVarint(), 300U);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(ByteReader, FailsForGoodAtTheEnd) {
  ByteReader reader(std::string_view("ab"));
  EXPECT_EQ(reader.Read<uint32_t>(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Read<uint8_t>(), 0U);
  EXPECT_TRUE(reader.ReadText(1).empty());
}

TEST(ByteReader, RefusesBadVarints) {
  ByteReader open(std::string_view("\x80\x80"));
  open.ReadVarint();
  EXPECT_FALSE(open.ok());
  ByteReader large(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
  large.ReadVarint();
  EXPECT_FALSE(large.ok());
  ByteReader most(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  EXPECT_EQ(most.ReadVarint(), ~uint64_t{0});
  EXPECT_TRUE(most.ok());
}

}  // namespace
}  // namespace sonde::base
