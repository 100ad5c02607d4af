#include "importers/common/kernel_name.h"

#include <gtest/gtest.h>

#include "store/collectives.h"

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

struct CollectiveExample {
  std::string_view kernel;
  std::string_view type;
};
#define KERNEL(part, type)
#define OPERATOR(name, type)
#define FITS(kernel, type) CollectiveExample{kernel, type},
#define NEVER(kernel) CollectiveExample{kernel, ""},
constexpr CollectiveExample kExamples[] = {
#include "store/collectives.inc"
};
#undef KERNEL
#undef OPERATOR
#undef FITS
#undef NEVER

TEST(KernelName, EveryExampleOfTheListOfCollectives) {
  for (const CollectiveExample& example : kExamples) {
    EXPECT_EQ(KernelCollective(example.kernel), example.type) << example.kernel;
  }
}

TEST(KernelName, OperatorsThatCommunicateAreNamedAsAWhole) {
  EXPECT_EQ(store::OperatorCollective("_C_custom_ar::all_reduce"), "allreduce");
  EXPECT_EQ(store::OperatorCollective("_C::shm_allreduce"), "allreduce");
  EXPECT_EQ(store::OperatorCollective("_C_custom_ar::all_reduce_like"), "");
  EXPECT_EQ(store::OperatorCollective("aten::add"), "");
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
