#include "adapt/nvidia/adapter.h"

#include "adapt/device/attachment.h"
#include "adapt/nvidia/cupti_tracer.h"

namespace {

sonde::adapt::device::Attachment& State() {
  // Never destroyed: callbacks outlive static objects.
  static auto* attachment = new sonde::adapt::device::Attachment();
  return *attachment;
}

}  // namespace

int sonde_nvidia_attach(void) { return State().Attach(&sonde::adapt::nvidia::CuptiTracer); }

const char* sonde_nvidia_last_error(void) { return State().error(); }
