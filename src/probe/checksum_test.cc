#include "probe/checksum.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace sonde::probe {
namespace {

// The arguments may be temporaries: a view is used within its full expression.
template <class T>
TensorView View(const std::vector<T>& data, const std::vector<int64_t>& shape,
                const std::vector<int64_t>& strides) {
  return {.data = data.data(), .element_bytes = sizeof(T), .shape = shape, .strides = strides};
}

TEST(Crc32Test, KnownValues) {
  EXPECT_EQ(Crc32(0, "123456789", 9), 0xcbf43926U);
  EXPECT_EQ(Crc32(0, nullptr, 0), 0U);
  // From the reference tool.
  const std::vector<int64_t> one = {1};
  EXPECT_EQ(Crc32Text(View<uint8_t>({1, 0}, {2}, one)), "58c223be");
  const std::vector<int64_t> six = {6};
  EXPECT_EQ(Crc32Text(View<int64_t>({0, 1, 2, 3, 4, 5}, six, one)), "a1c6c70c");
  EXPECT_EQ(Crc32Text(View<int64_t>({3}, {}, {})), "ebadd88a");
  const std::vector<int64_t> two = {2};
  EXPECT_EQ(Crc32Text(View<float>({1, 1}, two, one)), "d5065190");
  const std::vector<int64_t> none = {0};
  EXPECT_EQ(Crc32Text(View<float>({}, none, one)), "00000000");
}

TEST(Crc32Test, FoldingAgreesWithTablesAtEveryLength) {
  std::vector<uint8_t> data(1500);
  uint32_t state = 1;
  for (uint8_t& byte : data)
    byte = static_cast<uint8_t>((state = state * 1664525U + 1013904223U) >> 24U);
  for (size_t size = 0; size <= data.size(); size += size < 300 ? 1 : 37) {
    for (const uint32_t start : {0U, 0x12345678U}) {
      ASSERT_EQ(Crc32(start, data.data(), size), Crc32Portable(start, data.data(), size)) << size;
    }
  }
  const uint32_t first = Crc32(0, data.data(), 700);
  EXPECT_EQ(Crc32(first, data.data() + 700, 800), Crc32(0, data.data(), 1500));
}

TEST(Crc32Test, StridedViewsAreReadRowByRow) {
  std::vector<float> data(70 * 90);
  std::iota(data.begin(), data.end(), 0.0F);
  std::vector<float> transposed;
  for (size_t column = 0; column < 90; column++) {
    for (size_t row = 0; row < 70; row++) transposed.push_back(data[row * 90 + column]);
  }
  const std::vector<int64_t> shape = {90, 70};
  const std::vector<int64_t> gaps = {1, 90};
  const std::vector<int64_t> plain = {70, 1};
  EXPECT_EQ(Crc32Text(View(data, shape, gaps)), Crc32Text(View(transposed, shape, plain)));
  EXPECT_EQ(XorWords(View(data, shape, gaps)), XorWords(View(transposed, shape, plain)));
}

TEST(XorTest, WordsAreFilledWithZeros) {
  const std::vector<int64_t> one = {1};
  const std::vector<int64_t> three = {3};
  EXPECT_EQ(XorWords(View<uint32_t>({1, 2, 4}, three, one)), 0x0000000200000005U);
  EXPECT_EQ(HexWord(0x0000000200000005U), "0x0000000200000005");
  const std::vector<int64_t> nine = {9};
  EXPECT_EQ(XorWords(View<uint8_t>({1, 0, 0, 0, 0, 0, 0, 0x80, 3}, nine, one)),
            0x8000000000000002U);
}

}  // namespace
}  // namespace sonde::probe
