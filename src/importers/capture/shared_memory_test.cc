#include "importers/capture/shared_memory.h"

#include <gtest/gtest.h>

namespace sonde::importers::capture_import {
namespace {

TEST(SharedMemory, KnowsItsOperators) {
  EXPECT_EQ(SharedMemoryCollective("_C::shm_allreduce"), "allreduce");
  EXPECT_EQ(SharedMemoryCollective("_C::shm_recv_tensor_list"), "receive");
  EXPECT_EQ(SharedMemoryCollective("_C::onednn_mm"), "");
}

TEST(SharedMemory, PayloadIsTheFirstTensor) {
  const Payload floats = PayloadOf(";9,256", "Scalar;float");
  EXPECT_EQ(floats.bytes, 9 * 256 * 4);
  EXPECT_EQ(floats.count, 9 * 256);
  EXPECT_EQ(floats.data_type, "float");
  // A gather lists its input before its output.
  EXPECT_EQ(PayloadOf(";1,1024;2,1024", "Scalar;c10::BFloat16;c10::BFloat16").bytes, 2048);
  EXPECT_EQ(PayloadOf("", "").bytes, -1);
  EXPECT_EQ(PayloadOf(";", "Scalar;TensorList").bytes, -1);
}

TEST(SharedMemory, GroupByTheKindOfParallelism) {
  const std::vector<SharedMemoryGroup> groups = {{"tp:0", {0, 1}}, {"pp:0", {0, 2}}};
  EXPECT_EQ(GroupFor(groups, false)->name, "tp:0");
  EXPECT_EQ(GroupFor(groups, true)->name, "pp:0");
  EXPECT_EQ(GroupFor({{"x", {0, 1}}}, true)->name, "x");
  EXPECT_EQ(GroupFor({}, false), nullptr);
}

}  // namespace
}  // namespace sonde::importers::capture_import
