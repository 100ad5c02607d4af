// Waits until the GPUs of this process have finished their work, through the CUDA driver that it
// has loaded. Creates no contexts and does not change the state of the calling thread.
#ifndef SONDE_ADAPT_NVIDIA_SYNCHRONIZE_H_
#define SONDE_ADAPT_NVIDIA_SYNCHRONIZE_H_

namespace sonde::adapt::nvidia {

// Any thread, not from a callback of CUDA or CUPTI. Blocks as long as the devices work.
void SynchronizeDevices();

}  // namespace sonde::adapt::nvidia

#endif  // SONDE_ADAPT_NVIDIA_SYNCHRONIZE_H_
