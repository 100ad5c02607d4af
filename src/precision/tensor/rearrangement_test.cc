#include "precision/tensor/rearrangement.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace sonde::precision {
namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kColumns = 3;

std::vector<double> Counted(int64_t count) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::sqrt(static_cast<double>(i + 2)));
  return out;
}

// Row i of the result is row order[i] of the counted numbers.
Tensor RowsOrdered(const std::array<size_t, 8>& order) {
  const std::vector<double> all = Counted(kRows * kColumns);
  std::vector<double> values;
  for (const size_t row : order) {
    const auto begin = all.begin() + static_cast<int64_t>(row) * kColumns;
    values.insert(values.end(), begin, begin + kColumns);
  }
  return Tensor::OfDoubles({kRows, kColumns}, values);
}

constexpr std::array<size_t, 8> kInOrder = {0, 1, 2, 3, 4, 5, 6, 7};

TEST(RearrangementTest, ATransposedTensorIsNamedInEitherShape) {
  const std::vector<double> values = Counted(6);
  const Tensor golden = Tensor::OfDoubles({2, 3}, values);
  const std::vector<double> turned = {values[0], values[3], values[1],
                                      values[4], values[2], values[5]};
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({3, 2}, turned), golden), "transposed");
  const Tensor square = Tensor::OfDoubles({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({2, 2}, {1, 3, 2, 4}), square), "transposed");
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({3, 2}, values), golden), "in another order");
}

TEST(RearrangementTest, RowsAndColumnsInAnotherOrder) {
  const Tensor golden = RowsOrdered(kInOrder);
  EXPECT_EQ(RearrangementText(RowsOrdered({7, 6, 5, 4, 3, 2, 1, 0}), golden),
            "rows in reverse order");
  EXPECT_EQ(RearrangementText(RowsOrdered({0, 3, 2, 1, 4, 5, 6, 7}), golden),
            "2 of its 8 rows stand elsewhere");
  const Tensor one = Tensor::OfDoubles({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({2, 3}, {2, 1, 3, 5, 4, 6}), one),
            "2 of its 3 columns stand elsewhere");
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({6}, {6, 5, 4, 3, 2, 1}),
                              Tensor::OfDoubles({6}, {1, 2, 3, 4, 5, 6})),
            "elements in reverse order");
}

TEST(RearrangementTest, PairsAndHalvesOfRotaryHeads) {
  const Tensor halves = RowsOrdered(kInOrder);
  const Tensor pairs = RowsOrdered({0, 4, 1, 5, 2, 6, 3, 7});
  EXPECT_EQ(RearrangementText(pairs, halves),
            "pairs of rows where golden has halves, in groups of 8");
  EXPECT_EQ(RearrangementText(halves, pairs),
            "halves of rows where golden has pairs, in groups of 8");
}

TEST(RearrangementTest, OtherNumbersAndTheSameOrderAreNoRearrangement) {
  const Tensor golden = RowsOrdered(kInOrder);
  EXPECT_EQ(RearrangementText(golden, golden), "");
  EXPECT_EQ(
      RearrangementText(Tensor::OfDoubles({kRows, kColumns}, std::vector<double>(24, 1.0)), golden),
      "");
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({2}, {1, 2}), Tensor::OfDoubles({3}, {1, 2, 3})),
            "");
  // Zeros of both signs are one number.
  EXPECT_EQ(RearrangementText(Tensor::OfDoubles({2}, {-0.0, 1}), Tensor::OfDoubles({2}, {0.0, 1})),
            "");
}

}  // namespace
}  // namespace sonde::precision
