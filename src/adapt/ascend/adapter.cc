#include "adapt/ascend/adapter.h"

#include "adapt/ascend/mspti_tracer.h"
#include "adapt/device/attachment.h"

namespace {

sonde::adapt::device::Attachment& State() {
  // Never destroyed: callbacks outlive static objects.
  static auto* attachment = new sonde::adapt::device::Attachment();
  return *attachment;
}

}  // namespace

int sonde_ascend_attach(void) { return State().Attach(&sonde::adapt::ascend::MsptiTracer); }

const char* sonde_ascend_last_error(void) { return State().error(); }
