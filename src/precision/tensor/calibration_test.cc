#include "precision/tensor/calibration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_folder.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

std::vector<double> CalibrationValues(const Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.element_count()));
  tensor.ReadDoubles(0, out.size(), out.data());
  return out;
}

using Shape = std::vector<int64_t>;
using Doubles = std::vector<double>;

TEST(MatrixTest, ProductsComputedManually) {
  const Tensor value = Tensor::OfFloats({1, 2, 2}, {1, 2, 3, 4});
  const Tensor swap = Tensor::OfFloats({2, 2}, {0, 1, 1, 0});
  const auto right = MultiplyRight(value, swap);
  ASSERT_TRUE(right.ok());
  EXPECT_EQ(CalibrationValues(*right), (Doubles{2, 1, 4, 3}));
  EXPECT_EQ(right->dtype(), Dtype::kFloat32);
  const auto left = MultiplyLeft(swap, value);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(CalibrationValues(*left), (Doubles{3, 4, 1, 2}));
  const Tensor wide = Tensor::OfDoubles({2, 3}, {1, 0, 2, 0, 1, 2});
  const auto wider = MultiplyRight(value, wide);
  ASSERT_TRUE(wider.ok());
  EXPECT_EQ(wider->shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(CalibrationValues(*wider), (Doubles{1, 2, 6, 3, 4, 14}));
  const Tensor vector = Tensor::OfDoubles({2}, {5, 7});
  EXPECT_EQ(CalibrationValues(*MultiplyRight(vector, swap)), (Doubles{7, 5}));
  EXPECT_EQ(CalibrationValues(*MultiplyLeft(swap, vector)), (Doubles{7, 5}));
  EXPECT_FALSE(MultiplyRight(value, Tensor::OfDoubles({3, 2}, Doubles(6))).ok());
  EXPECT_FALSE(MultiplyRight(value, vector).ok());
}

TEST(CalibrationTest, AppliesWhatTheFileNames) {
  const base::TestFolder folder;
  // plain.npy holds 0..5 in the shape 2 x 3.
  const std::string matrix = base::JoinPath(SONDE_PRECISION_TESTDATA, "plain.npy");
  const std::string path = folder.File("config.yaml");
  ASSERT_TRUE(base::WriteFileAtomically(
                  path, "right_matmul:\n  target_tensor_map: {'" + matrix +
                            "': [a.pt], '/nope.pt': [b.pt]}\n  other: {}\nunknown: 1\n")
                  .ok());
  const auto calibration = Calibration::Load(path);
  ASSERT_TRUE(calibration.ok()) << calibration.status().ToString();
  const Tensor value = Tensor::OfFloats({1, 2}, {1, 1});
  EXPECT_EQ(CalibrationValues((*calibration)->Apply(value, "a.pt", true)), (Doubles{3, 5, 7}));
  EXPECT_EQ(CalibrationValues((*calibration)->Apply(value, "a.pt", false)), (Doubles{1, 1}));
  EXPECT_EQ(CalibrationValues((*calibration)->Apply(value, "b.pt", true)), (Doubles{1, 1}));
  const Tensor misfit = Tensor::OfFloats({3}, {1, 2, 3});
  EXPECT_EQ(CalibrationValues((*calibration)->Apply(misfit, "a.pt", true)), (Doubles{1, 2, 3}));
  EXPECT_EQ((*calibration)->warnings().size(), 4U);
  ASSERT_TRUE(base::WriteFileAtomically(path, "right_matmul: {target_tensor_map: [1]}\n").ok());
  EXPECT_FALSE(Calibration::Load(path).ok());
}

}  // namespace
}  // namespace sonde::precision
