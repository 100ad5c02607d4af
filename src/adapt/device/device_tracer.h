// Collects the work of a vendor's device while a session records.
//
// One implementation a vendor interface, in the folder of that vendor; the library of the interface
// is found at run time, and a machine without it has no tracer. Records go into a DeviceFile, never
// through the recorder's rings: they come in buffers, on a thread of the vendor, after the work.
// Threads: Start and Stop one at a time, by the recorder's listener. No exceptions.
#ifndef SONDE_ADAPT_DEVICE_DEVICE_TRACER_H_
#define SONDE_ADAPT_DEVICE_DEVICE_TRACER_H_

#include <cstdint>
#include <string>

namespace sonde::adapt::device {

class DeviceTracer {
 public:
  virtual ~DeviceTracer() = default;

  // Collects into the capture in `folder`. Returns an empty text, or the reason of a failure.
  virtual std::string Start(const std::string& folder, uint32_t keep_last_seconds) = 0;

  // Returns when all finished work of the device is in the file. The text is empty, or what was
  // lost.
  virtual std::string Stop() = 0;

  // In the child of a fork, which has no thread of the vendor: nothing is collected there.
  virtual void AfterFork() = 0;
};

// Makes the tracer follow the recorder's sessions from now on, including one that records already;
// its messages become issues of the captures. Once a process and vendor. 0 or a negative errno.
int FollowSessions(DeviceTracer* tracer);

}  // namespace sonde::adapt::device

#endif  // SONDE_ADAPT_DEVICE_DEVICE_TRACER_H_
