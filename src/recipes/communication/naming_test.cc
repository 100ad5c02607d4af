#include "recipes/communication/naming.h"

#include <gtest/gtest.h>

namespace sonde::recipes {
namespace {

// Values of real captures.
TEST(Naming, GroupHash) {
  EXPECT_EQ(GroupHash("90.91.105.46%enp189s0f0_60000_0_1736414082311975"), 11978775601474615865U);
  EXPECT_EQ(GroupHash("group_name_0"), 5862276093215481612U);
  EXPECT_EQ(GroupHash("group_name_19"), 3985310405473756128U);
  EXPECT_EQ(GroupHash("group_name_20"), 3985310491373102170U);
  EXPECT_EQ(GroupHash(""), 0U);
}

TEST(Naming, Operations) {
  EXPECT_EQ(HcomName("gloo:all_reduce", 17522688603477080586U, 0), "hcom_allReduce__586_0_1");
  EXPECT_EQ(HcomName("recv", 3985310405473756007U, 12), "hcom_receive__007_12_1");
  EXPECT_EQ(HcomType("_reduce_scatter_base"), "hcom_reduceScatter_");
  EXPECT_EQ(HcomType("allgather_into_tensor_coalesced"), "hcom_allGather_");
  EXPECT_EQ(HcomType("sendrecv"), "hcom_batchSendRecv_") << "no receive of a pipeline";
  EXPECT_EQ(HcomType("mystery"), "hcom_mystery_");
  EXPECT_EQ(HcomType("sendrecv"), "hcom_batchSendRecv_");  // and no receive of a pipeline
  EXPECT_TRUE(IsPointToPoint("hcom_batchSendRecv__128_3_1"));
  EXPECT_FALSE(IsPointToPoint("hcom_allReduce__128_3_1"));
}

TEST(Naming, DataTypes) {
  EXPECT_EQ(HcclDataType("float32"), "FP32");
  EXPECT_EQ(HcclDataType("c10::BFloat16"), "BFP16");
  EXPECT_EQ(HcclDataType("FP16"), "FP16");
  EXPECT_EQ(HcclDataType("quint4x2"), "INVALID_TYPE");
}

}  // namespace
}  // namespace sonde::recipes
