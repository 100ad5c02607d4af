#include "adapt/probe/nesting.h"

namespace sonde::adapt {
namespace {

// Process-wide as the steps are; changed under the GIL.
uint64_t g_step = 0;
thread_local Nesting t_nesting;

}  // namespace

Nesting& ThisNesting() {
  Nesting& nesting = t_nesting;
  if (nesting.step != g_step) {
    const bool was_busy = nesting.is_busy;
    nesting = Nesting();
    nesting.is_busy = was_busy;
    nesting.step = g_step;
  }
  return nesting;
}

void ForgetNesting() { g_step++; }

}  // namespace sonde::adapt
