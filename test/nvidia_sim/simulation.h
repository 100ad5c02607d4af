// One simulated GPU under the names of CUPTI, for tests.
//
// Its streams run in order, and a kernel takes the time that it is given, on a clock of its
// own that begins with the host's: nothing waits. What it did comes as records of CUPTI's
// activities, in buffers that the subscriber gives, from a thread of the library. It logs at its
// first use that it is a simulation; no figure of it is one of a device.
//
// Programs drive it by the functions below (ctypes), subscribers by those of libcupti.so.
// Threads: any. Nothing fails but by wrong use, which ends the process.
#ifndef SONDE_TEST_NVIDIA_SIM_SIMULATION_H_
#define SONDE_TEST_NVIDIA_SIM_SIMULATION_H_

#include <cstddef>
#include <cstdint>

#define SIM_API extern "C" __attribute__((visibility("default")))

// cudaLaunchKernel of a kernel, by its mangled name; as the real one, it asks for the device before
// and goes through the driver's interface. They return the task's correlation id.
SIM_API uint32_t nvidia_sim_kernel(const char* mangled, uint32_t stream, uint64_t dur_ns);
// The same by cuLaunchKernel, as compilers' kernels are launched.
SIM_API uint32_t nvidia_sim_driver_kernel(const char* mangled, uint32_t stream, uint64_t dur_ns);
// cudaMemcpyAsync from pageable memory to the device.
SIM_API uint32_t nvidia_sim_memcpy(uint64_t bytes, uint32_t stream, uint64_t dur_ns);
// cudaMemsetAsync of memory of the device.
SIM_API uint32_t nvidia_sim_memset(uint64_t bytes, uint32_t stream, uint64_t dur_ns);
// A kernel that has not ended when its record is taken.
SIM_API uint32_t nvidia_sim_unfinished_kernel(const char* mangled);
// What CUPTI's clock shows is that of the system less so much, from now on.
SIM_API void nvidia_sim_clock_behind(int64_t ns);
// So many records are reported as dropped with the next buffer.
SIM_API void nvidia_sim_drop(uint64_t count);

namespace nvidia_sim {

// Numbers of CUPTI, as its headers have them.
enum Kind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kConcurrentKernel = 10,
};
enum Domain : uint32_t { kDriverApi = 1, kRuntimeApi = 2 };
enum Call : uint32_t {
  kCudaGetDevice = 17,
  kCudaMemcpyAsync = 41,
  kCudaMemsetAsync = 51,
  kCudaLaunchKernel = 211,
  kCuCtxSynchronize = 17,
  kCuLaunchKernel = 307,
};

// Delivers a record, if somebody has enabled its kind.
void Report(uint32_t kind, const void* record, size_t size);

uint64_t NowNs();  // of the simulated clock

void LogOnce();

}  // namespace nvidia_sim

#endif  // SONDE_TEST_NVIDIA_SIM_SIMULATION_H_
