#include "importers/common/kernel_name.h"

#include <gtest/gtest.h>

namespace sonde::importers::common {
namespace {

TEST(KernelName, IsThatOfItsFunction) {
  EXPECT_EQ(KernelFunction("void at::native::vectorized_elementwise_kernel<4, "
                           "at::native::CUDAFunctor_add<c10::BFloat16>>(int)"),
            "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(KernelFunction("std::enable_if<!(false), void>::type "
                           "internal::gemvx::kernel<int, int, float>(int)"),
            "internal::gemvx::kernel");
  EXPECT_EQ(KernelFunction("void (anonymous namespace)::softmax_warp_forward<float, 10>(float*)"),
            "(anonymous namespace)::softmax_warp_forward");
  EXPECT_EQ(KernelFunction("triton_poi_fused_mul_silu_3"), "triton_poi_fused_mul_silu_3");
  EXPECT_EQ(KernelFunction("_ZN2at6native13reduce_kernelILi512EEEvi"), "at::native::reduce_kernel");
  EXPECT_EQ(KernelFunction("_Zbroken"), "_Zbroken");
  EXPECT_EQ(KernelFunction("<"), "<");
}

TEST(KernelName, OfCollectives) {
  EXPECT_EQ(KernelCollective("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"), "allreduce");
  EXPECT_EQ(KernelCollective("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), "reducescatter");
  EXPECT_EQ(KernelCollective("void vllm::cross_device_reduce_1stage<c10::BFloat16, 2>(int)"),
            "allreduce");
  EXPECT_EQ(KernelCollective("void at::native::reduce_kernel<512>(int)"), "");
}

TEST(KernelName, CopiesOfRocm) {
  EXPECT_STREQ(KernelTaskType("__amd_rocclr_copyBuffer.kd"), "MEMCPY");
  EXPECT_STREQ(KernelTaskType("__amd_rocclr_fillBufferAligned"), "MEMSET");
  EXPECT_STREQ(KernelTaskType("gemm"), "KERNEL");
}

// AMD's compilers mangle 16 bit floats in a way that older C++ libraries do not know.
TEST(KernelName, OfAmdsCompilersIsReadable) {
  EXPECT_EQ(
      KernelFunction("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1"
                     "EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"),
      "aiter::add_rmsnorm_quant_kernel");
  EXPECT_EQ(KernelFunction("_ZN5aiter6kernelIDF16_EEvPT_"), "aiter::kernel");
  EXPECT_EQ(KernelFunction("_Znonsense"), "_Znonsense");
}

}  // namespace
}  // namespace sonde::importers::common
