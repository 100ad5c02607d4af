#include "precision/tensor/tensor_comparison.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "precision/compare/compare.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

using Doubles = std::vector<double>;

Doubles ComparisonValues(const Tensor& tensor) {
  Doubles out(static_cast<size_t>(tensor.element_count()));
  tensor.ReadDoubles(0, out.size(), out.data());
  return out;
}

TEST(TensorTest, RowsBehindBecomeZero) {
  const Tensor packed = Tensor::OfFloats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ComparisonValues(packed.WithZerosFrom(2)), (Doubles{1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(ComparisonValues(packed.WithZerosFrom(0)), Doubles(6, 0.0));
  EXPECT_EQ(ComparisonValues(packed.WithZerosFrom(3)), ComparisonValues(packed));
  EXPECT_EQ(packed.WithZerosFrom(1).dtype(), Dtype::kFloat32);
  const std::vector<int16_t> storage = {1, 4, 2, 5, 3, 6};
  const auto strided =
      Tensor::Make(Dtype::kInt16, {3, 2}, {2, 1}, 0, std::as_bytes(std::span(storage)));
  const auto turned =
      Tensor::Make(Dtype::kInt16, {2, 3}, {1, 2}, 0, std::as_bytes(std::span(storage)));
  ASSERT_TRUE(strided.ok() && turned.ok());
  EXPECT_EQ(ComparisonValues(turned->WithZerosFrom(1)), (Doubles{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(ComparisonValues(strided->WithZerosFrom(1)), (Doubles{1, 4, 0, 0, 0, 0}));
}

template <class T>
void WriteNpy(const std::string& path, const char* descr, const std::string& shape,
              const std::vector<T>& values) {
  std::string header =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118, ' ');
  std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  ASSERT_TRUE(base::WriteFileAtomically(path, bytes).ok());
}

std::string Record(const std::string& name, const std::string& dtype) {
  return R"({"type": "torch.Tensor", "dtype": ")" + dtype + R"(", "shape": [3], "Max": 1, "Min": 0,
            "Mean": 0, "Norm": 1, "requires_grad": false, "data_name": ")" +
         name + R"("})";
}

std::string GroupedDump() {
  const std::string call = "NPU.npu_grouped_matmul.0.forward";
  return "{\"" + call + R"(": {"input_args": [], "input_kwargs": {"group_list": )" +
         Record(call + ".input.group_list.npy", "torch.int64") + R"(}, "output": [)" +
         Record(call + ".output.0.npy", "torch.float32") + "]}}";
}

// The device leaves what lies behind the groups undefined; it must not count.
TEST(TensorComparisonTest, RowsBehindTheGroupsAreNotCompared) {
  const base::TestFolder folder;
  const std::string call = "/NPU.npu_grouped_matmul.0.forward";
  for (const char* side : {"target", "golden"}) {
    ASSERT_TRUE(base::MakeDirectories(folder.File(side)).ok());
    WriteNpy<int64_t>(folder.File(side) + call + ".input.group_list.npy", "<i8", "(2,)", {1, 1});
  }
  WriteNpy<float>(folder.File("target") + call + ".output.0.npy", "<f4", "(3,)", {1, 2, 77});
  WriteNpy<float>(folder.File("golden") + call + ".output.0.npy", "<f4", "(3,)", {1, 2, 0});
  const auto target = DumpOf(GroupedDump(), "tensor");
  const auto golden = DumpOf(GroupedDump(), "tensor");
  Comparison comparison = PairAndCompare(*target, *golden, Mode::kTensor, {});
  TensorSource source;
  source.target_folder = folder.File("target");
  source.golden_folder = folder.File("golden");
  const TensorFileIssues issues = FillTensorMetrics(source, &comparison);
  EXPECT_EQ(issues.unreadable, 0U) << issues.first;
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[1].cells[kMaxAbsErr].value, 0.0);
  EXPECT_EQ(comparison.rows[1].cells[kCosine].value, 1.0);
}

}  // namespace
}  // namespace sonde::precision
