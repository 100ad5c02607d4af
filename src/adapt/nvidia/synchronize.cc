#include "adapt/nvidia/synchronize.h"

#include "adapt/nvidia/loaded_library.h"

namespace sonde::adapt::nvidia {
namespace {

constexpr int kSuccess = 0;
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

// Of libcuda.so, as its documentation types them.
struct Driver {
  int (*device_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*primary_state)(int device, unsigned* flags, int* active);
  int (*primary_retain)(void** context, int device);
  int (*primary_release)(int device);
  int (*push)(void* context);
  int (*pop)(void** context);
  int (*synchronize)();
  int (*exchange_capture_mode)(int* mode);

  bool Find() {
    const LoadedLibrary library("libcuda.so");
    return library.Find("cuDeviceGetCount", &device_count) &&
           library.Find("cuDeviceGet", &device_get) &&
           library.Find("cuDevicePrimaryCtxGetState", &primary_state) &&
           library.Find("cuDevicePrimaryCtxRetain", &primary_retain) &&
           library.Find("cuDevicePrimaryCtxRelease_v2", &primary_release) &&
           library.Find("cuCtxPushCurrent_v2", &push) && library.Find("cuCtxPopCurrent_v2", &pop) &&
           library.Find("cuCtxSynchronize", &synchronize) &&
           library.Find("cuThreadExchangeStreamCaptureMode", &exchange_capture_mode);
  }
};

void SynchronizePrimary(const Driver& driver, int device) {
  unsigned flags = 0;
  int active = 0;
  if (driver.primary_state(device, &flags, &active) != kSuccess || active == 0) return;
  void* context = nullptr;
  if (driver.primary_retain(&context, device) != kSuccess) return;
  if (driver.push(context) == kSuccess) {
    driver.synchronize();
    driver.pop(&context);
  }
  driver.primary_release(device);
}

}  // namespace

void SynchronizeDevices() {
  Driver driver = {};
  int count = 0;
  if (!driver.Find() || driver.device_count(&count) != kSuccess) return;
  // The wait must not invalidate a graph that another thread is capturing.
  int mode = kRelaxed;
  const bool exchanged = driver.exchange_capture_mode(&mode) == kSuccess;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    if (driver.device_get(&device, ordinal) == kSuccess) SynchronizePrimary(driver, device);
  }
  if (exchanged) driver.exchange_capture_mode(&mode);
}

}  // namespace sonde::adapt::nvidia
