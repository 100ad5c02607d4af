// Waits until the GPUs of this process have done what they were given, by the CUDA driver that it
// has loaded. Contexts that are not there are not made; nothing of the calling thread changes.
#ifndef SONDE_ADAPT_NVIDIA_SYNCHRONIZE_H_
#define SONDE_ADAPT_NVIDIA_SYNCHRONIZE_H_

namespace sonde::adapt::nvidia {

// Any thread, not from a callback of CUDA or CUPTI. Blocks as long as the devices work.
void SynchronizeDevices();

}  // namespace sonde::adapt::nvidia

#endif  // SONDE_ADAPT_NVIDIA_SYNCHRONIZE_H_
