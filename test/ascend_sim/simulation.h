// One simulated Ascend device under the names of the vendor's library, for tests.
//
// Its memory is the host's, its streams run in order, and a kernel takes the time that it is given
// to take, on a clock of its own that begins with the host's: nothing waits. What it did comes as
// the records of libmspti.so, in buffers that the subscriber gives, from a thread of the library.
// It logs at its first use that it is a simulation; no figure of it is one of a device.
//
// Programs drive it by the functions below (ctypes), subscribers by those of libmspti.so.
// Threads: any. Nothing fails but by wrong use, which ends the process.
#ifndef SONDE_TEST_ASCEND_SIM_SIMULATION_H_
#define SONDE_TEST_ASCEND_SIM_SIMULATION_H_

#include <cstddef>
#include <cstdint>

#define SIM_API extern "C" __attribute__((visibility("default")))

// Host calls named `api` that launch one task on a stream. `type` as runtimes name kinds of kernels
// ("KERNEL_AICORE"); `dur_ns` 0 or more. They return the task's correlation id.
SIM_API uint64_t ascend_sim_kernel(const char* api, const char* name, const char* type,
                                   uint32_t stream, uint64_t dur_ns);
SIM_API uint64_t ascend_sim_memcpy(void* to, const void* from, size_t size, uint32_t stream,
                                   uint64_t dur_ns);
SIM_API uint64_t ascend_sim_communicate(const char* api, const char* name, const char* group,
                                        uint64_t count, uint32_t stream, uint64_t dur_ns);
// A kernel of the device that its clock did not see.
SIM_API uint64_t ascend_sim_kernel_without_times(const char* api, const char* name);

namespace ascend_sim {

// Delivers a record of libmspti.so, if somebody has enabled its kind.
void Report(uint32_t kind, const void* record, size_t size);

// The copy of a text that lives as long as the process, as records need it.
const char* Keep(const char* text);

void LogOnce();

}  // namespace ascend_sim

#endif  // SONDE_TEST_ASCEND_SIM_SIMULATION_H_
