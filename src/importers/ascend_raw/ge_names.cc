#include "importers/ascend_raw/ge_names.h"

#include <array>
#include <span>
#include <string_view>

#include "base/strings.h"

namespace sonde::importers::raw {
namespace {

struct Named {
  uint32_t number;
  std::string_view name;
};

constexpr auto kDataTypes = std::to_array<Named>({{0, "FLOAT"},
                                                  {1, "FLOAT16"},
                                                  {2, "INT8"},
                                                  {3, "INT32"},
                                                  {4, "UINT8"},
                                                  {6, "INT16"},
                                                  {7, "UINT16"},
                                                  {8, "UINT32"},
                                                  {9, "INT64"},
                                                  {10, "UINT64"},
                                                  {11, "DOUBLE"},
                                                  {12, "BOOL"},
                                                  {13, "STRING"},
                                                  {14, "DUAL_SUB_INT8"},
                                                  {15, "DUAL_SUB_UINT8"},
                                                  {16, "COMPLEX64"},
                                                  {17, "COMPLEX128"},
                                                  {18, "QINT8"},
                                                  {19, "QINT16"},
                                                  {20, "QINT32"},
                                                  {21, "QUINT8"},
                                                  {22, "QUINT16"},
                                                  {23, "RESOURCE"},
                                                  {24, "STRING_REF"},
                                                  {25, "DUAL"},
                                                  {26, "DT_VARIANT"},
                                                  {27, "DT_BF16"},
                                                  {28, "DT_UNDEFINED"},
                                                  {29, "DT_INT4"},
                                                  {30, "DT_UINT1"},
                                                  {31, "DT_INT2"},
                                                  {32, "DT_UINT2"},
                                                  {33, "DT_COMPLEX32"},
                                                  {34, "DT_HIFLOAT8"},
                                                  {35, "DT_FLOAT8_E5M2"},
                                                  {36, "DT_FLOAT8_E4M3FN"},
                                                  {37, "DT_FLOAT8_E8M0"},
                                                  {38, "DT_FLOAT6_E3M2"},
                                                  {39, "DT_FLOAT6_E2M3"},
                                                  {40, "DT_FLOAT4_E2M1"},
                                                  {41, "DT_FLOAT4_E1M2"},
                                                  {42, "DT_MAX"},
                                                  {229, "NUMBER_TYPE_BEGIN_"},
                                                  {230, "BOOL_"},
                                                  {231, "INT_"},
                                                  {232, "INT8_"},
                                                  {233, "INT16_"},
                                                  {234, "INT32_"},
                                                  {235, "INT64_"},
                                                  {236, "UINT_"},
                                                  {237, "UINT8_"},
                                                  {238, "UINT16_"},
                                                  {239, "UINT32_"},
                                                  {240, "UINT64_"},
                                                  {241, "FLOAT_"},
                                                  {242, "FLOAT16_"},
                                                  {243, "FLOAT32_"},
                                                  {244, "FLOAT64_"},
                                                  {245, "COMPLEX_"},
                                                  {246, "NUMBER_TYPE_END_"}});
constexpr auto kFormats = std::to_array<Named>({{0, "NCHW"},
                                                {1, "NHWC"},
                                                {2, "ND"},
                                                {3, "NC1HWC0"},
                                                {4, "FRACTAL_Z"},
                                                {5, "NC1C0HWPAD"},
                                                {6, "NHWC1C0"},
                                                {7, "FSR_NCHW"},
                                                {8, "FRACTAL_DECONV"},
                                                {9, "C1HWNC0"},
                                                {10, "FRACTAL_DECONV_TRANSPOSE"},
                                                {11, "FRACTAL_DECONV_SP_STRIDE_TRANS"},
                                                {12, "NC1HWC0_C04"},
                                                {13, "FRACTAL_Z_C04"},
                                                {14, "CHWN"},
                                                {15, "FRACTAL_DECONV_SP_STRIDE8_TRANS"},
                                                {16, "HWCN"},
                                                {17, "NC1KHKWHWC0"},
                                                {18, "BN_WEIGHT"},
                                                {19, "FILTER_HWCK"},
                                                {20, "HASHTABLE_LOOKUP_LOOKUPS"},
                                                {21, "HASHTABLE_LOOKUP_KEYS"},
                                                {22, "HASHTABLE_LOOKUP_VALUE"},
                                                {23, "HASHTABLE_LOOKUP_OUTPUT"},
                                                {24, "HASHTABLE_LOOKUP_HITS"},
                                                {25, "C1HWNCoC0"},
                                                {26, "MD"},
                                                {27, "NDHWC"},
                                                {28, "FRACTAL_ZZ"},
                                                {29, "FRACTAL_NZ"},
                                                {30, "NCDHW"},
                                                {31, "DHWCN"},
                                                {32, "NDC1HWC0"},
                                                {33, "FRACTAL_Z_3D"},
                                                {34, "CN"},
                                                {35, "NC"},
                                                {36, "DHWNC"},
                                                {37, "FRACTAL_Z_3D_TRANSPOSE"},
                                                {38, "FRACTAL_ZN_LSTM"},
                                                {39, "FRACTAL_Z_G"},
                                                {40, "RESERVED"},
                                                {41, "ALL"},
                                                {42, "NULL"},
                                                {43, "ND_RNN_BIAS"},
                                                {44, "FRACTAL_ZN_RNN"},
                                                {45, "END"},
                                                {47, "NCL"},
                                                {48, "FRACTAL_Z_WINO"},
                                                {49, "C1HWC0"},
                                                {50, "FRACTAL_NZ_C0_16"},
                                                {51, "FRACTAL_NZ_C0_32"},
                                                {52, "FRACTAL_NZ_C0_2"},
                                                {53, "FRACTAL_NZ_C0_4"},
                                                {54, "FRACTAL_NZ_C0_8"},
                                                {55, "END"},
                                                {255, "MAX"},
                                                {200, "UNKNOWN_"},
                                                {201, "DEFAULT_"},
                                                {202, "NC1KHKWHWC0_"},
                                                {203, "ND_"},
                                                {204, "NCHW_"},
                                                {205, "NHWC_"},
                                                {206, "HWCN_"},
                                                {207, "NC1HWC0_"},
                                                {208, "FRAC_Z_"},
                                                {209, "C1HWNCOC0_"},
                                                {210, "FRAC_NZ_"},
                                                {211, "NC1HWC0_C04_"},
                                                {212, "FRACTAL_Z_C04_"},
                                                {213, "NDHWC_"},
                                                {214, "FRACTAL_ZN_LSTM_"},
                                                {215, "FRACTAL_ZN_RNN_"},
                                                {216, "ND_RNN_BIAS_"},
                                                {217, "NDC1HWC0_"},
                                                {218, "NCDHW_"},
                                                {219, "FRACTAL_Z_3D_"},
                                                {220, "DHWNC_"},
                                                {221, "DHWCN_"}});
constexpr auto kTaskTypes = std::to_array<Named>({{0, "AI_CORE"},
                                                  {1, "AI_CPU"},
                                                  {2, "AI_VECTOR_CORE"},
                                                  {3, "WRITE_BACK"},
                                                  {4, "MIX_AIC"},
                                                  {5, "MIX_AIV"},
                                                  {6, "FFTS_PLUS"},
                                                  {7, "DSA_SQE"},
                                                  {8, "DVPP"},
                                                  {9, "COMMUNICATION"},
                                                  {10, "FUSION"},
                                                  {11, "INVALID"},
                                                  {256, "HCCL_AI_CPU"}});
constexpr auto kSqeTypes =
    std::to_array<Named>({{0, "AI_CORE"},           {1, "AI_CPU"},           {2, "AIV_SQE"},
                          {3, "PLACE_HOLDER_SQE"},  {4, "EVENT_RECORD_SQE"}, {5, "EVENT_WAIT_SQE"},
                          {6, "NOTIFY_RECORD_SQE"}, {7, "NOTIFY_WAIT_SQE"},  {8, "WRITE_VALUE_SQE"},
                          {9, "VQ6_SQE"},           {10, "TOF_SQE"},         {11, "SDMA_SQE"},
                          {12, "VPC_SQE"},          {13, "JPEGE_SQE"},       {14, "JPEGD_SQE"},
                          {15, "DSA_SQE"},          {16, "ROCCE_SQE"},       {17, "PCIE_DMA_SQE"},
                          {18, "HOST_CPU_SQE"},     {19, "CDQM_SQE"},        {20, "C_CORE_SQE"}});
constexpr auto kSqeTypesV6 = std::to_array<Named>({{0, "AI_CORE"},
                                                   {1, "AIV_SQE"},
                                                   {2, "FUSION"},
                                                   {3, "PLACE_HOLDER_SQE"},
                                                   {4, "AICPU_H"},
                                                   {5, "AICPU_D"},
                                                   {6, "NOTIFY_RECORD_SQE"},
                                                   {7, "NOTIFY_WAIT_SQE"},
                                                   {8, "WRITE_VALUE_SQE"},
                                                   {9, "UBDMA"},
                                                   {10, "ASYNCDMA"},
                                                   {11, "SDMA_SQE"},
                                                   {12, "VPC_SQE"},
                                                   {13, "JPEGE_SQE"},
                                                   {14, "JPEGD_SQE"},
                                                   {15, "CMO_SQE"},
                                                   {16, "CCU_SQE"},
                                                   {20, "CONDITION_SQE"},
                                                   {21, "END_SQE"}});
constexpr auto kSubTasks = std::to_array<Named>({{0, "AIC"},
                                                 {1, "AIV"},
                                                 {3, "Notify Wait"},
                                                 {4, "Notify Record"},
                                                 {5, "Write Value"},
                                                 {6, "MIX_AIC"},
                                                 {7, "MIX_AIV"},
                                                 {8, "SDMA"},
                                                 {9, "Data Context"},
                                                 {10, "Invalidate Data Context"},
                                                 {11, "Writeback Data Context"},
                                                 {12, "AI_CPU"},
                                                 {13, "Load Context"},
                                                 {15, "DSA"}});
constexpr auto kHcclTypes = std::to_array<Named>({{0, "INT8"},
                                                  {1, "INT16"},
                                                  {2, "INT32"},
                                                  {3, "FP16"},
                                                  {4, "FP32"},
                                                  {5, "INT64"},
                                                  {6, "UINT64"},
                                                  {7, "UINT8"},
                                                  {8, "UINT16"},
                                                  {9, "UINT32"},
                                                  {10, "FP64"},
                                                  {11, "BFP16"},
                                                  {12, "INT128"},
                                                  {14, "HIF8"},
                                                  {15, "FP8E4M3"},
                                                  {16, "FP8E5M2"},
                                                  {17, "FP8E8M0"},
                                                  {255, "RESERVED"}});
constexpr auto kLinks = std::to_array<Named>({{0, "ON_CHIP"},
                                              {1, "HCCS"},
                                              {2, "PCIE"},
                                              {3, "ROCE"},
                                              {4, "SIO"},
                                              {5, "HCCS_SW"},
                                              {6, "STANDARD_ROCE"},
                                              {7, "UB"},
                                              {8, "UBoE"},
                                              {255, "RESERVED"}});
constexpr auto kTransports = std::to_array<Named>(
    {{0, "SDMA"}, {1, "RDMA"}, {2, "LOCAL"}, {3, "UB"}, {4, "ROCE"}, {255, "RESERVED"}});
constexpr auto kCopies = std::to_array<Named>({{0, "host to host"},
                                               {1, "host to device"},
                                               {2, "device to host"},
                                               {3, "device to device"},
                                               {4, "managed memory"},
                                               {5, "addr device to device"},
                                               {6, "host to device ex"},
                                               {7, "device to host ex"},
                                               {65535, "other"}});
constexpr auto kModules =
    std::to_array<Named>({{0, "SLOG"},        {1, "IDEDD"},     {2, "SCC"},
                          {3, "HCCL"},        {4, "FMK"},       {5, "CCU"},
                          {6, "DVPP"},        {7, "RUNTIME"},   {8, "CCE"},
                          {9, "HDC"},         {10, "DRV"},      {11, "NET"},
                          {22, "DEVMM"},      {23, "KERNEL"},   {24, "LIBMEDIA"},
                          {25, "CCECPU"},     {27, "ROS"},      {28, "HCCP"},
                          {29, "ROCE"},       {30, "TEFUSION"}, {31, "PROFILING"},
                          {32, "DP"},         {33, "APP"},      {34, "TS"},
                          {35, "TSDUMP"},     {36, "AICPU"},    {37, "LP"},
                          {38, "TDT"},        {39, "FE"},       {40, "MD"},
                          {41, "MB"},         {42, "ME"},       {43, "IMU"},
                          {44, "IMP"},        {45, "GE"},       {47, "CAMERA"},
                          {48, "ASCENDCL"},   {49, "TEEOS"},    {50, "ISP"},
                          {51, "SIS"},        {52, "HSM"},      {53, "DSS"},
                          {54, "PROCMGR"},    {55, "BBOX"},     {56, "AIVECTOR"},
                          {57, "TBE"},        {58, "FV"},       {60, "TUNE"},
                          {61, "HSS"},        {62, "FFTS"},     {63, "OP"},
                          {64, "UDF"},        {65, "HICAID"},   {66, "TSYNC"},
                          {67, "AUDIO"},      {68, "TPRT"},     {69, "ASCENDCKERNEL"},
                          {70, "ASYS"},       {71, "ATRACE"},   {72, "RTC"},
                          {73, "SYSMONITOR"}, {74, "AML/AMP"},  {75, "ADETECT"},
                          {76, "MBUFF"},      {77, "CUSTOM"}});

constexpr uint32_t kInvalid = 0xFFFFFFFF;

const Named* Find(std::span<const Named> names, uint32_t number) {
  for (const Named& named : names) {
    if (named.number == number) return &named;
  }
  return nullptr;
}

std::string NameOf(std::span<const Named> names, uint32_t number, std::string_view invalid) {
  if (number == kInvalid) return std::string(invalid);
  const Named* named = Find(names, number);
  return named == nullptr ? std::to_string(number) : std::string(named->name);
}

}  // namespace

std::string DataTypeName(uint32_t type) { return NameOf(kDataTypes, type, "UNDEFINED"); }

std::string FormatName(uint32_t format) {
  if (format == kInvalid) return "UNDEFINED";
  const uint32_t sub = format >> 8U & 0xFFFFU;
  const std::string name = NameOf(kFormats, format & 0xFFU, "UNDEFINED");
  return sub > 0 ? base::Concat(name, ":", std::to_string(sub)) : name;
}

std::string TaskTypeName(uint32_t type) { return NameOf(kTaskTypes, type, "INVALID"); }

std::string SqeTypeName(uint32_t type, bool is_v6) {
  const Named* named = is_v6 ? Find(kSqeTypesV6, type) : Find(kSqeTypes, type);
  return named == nullptr ? "UNKNOWN" : std::string(named->name);
}

std::string HwtsTypeName(uint32_t type) {
  enum : uint8_t { kLastOfBoth = 8, kCopy = 9, kMax = 10 };
  if (type <= kLastOfBoth) return SqeTypeName(type, /*is_v6=*/false);
  return type == kCopy ? "SDMA_SQE" : type == kMax ? "MAX_SQE" : "Other";
}

std::string SubTaskName(uint32_t type) {
  const Named* named = Find(kSubTasks, type);
  return named == nullptr ? "UNKNOWN" : std::string(named->name);
}

std::string HcclTypeName(uint32_t type) { return NameOf(kHcclTypes, type, "INVALID_TYPE"); }
std::string LinkName(uint32_t link) { return NameOf(kLinks, link, "INVALID_TYPE"); }
std::string TransportName(uint32_t transport) {
  return NameOf(kTransports, transport, "INVALID_TYPE");
}
std::string CopyName(uint32_t direction) { return NameOf(kCopies, direction, "other"); }

std::string ModuleName(uint32_t module) {
  const Named* named = Find(kModules, module);
  return named == nullptr ? "other" : std::string(named->name);
}

}  // namespace sonde::importers::raw
