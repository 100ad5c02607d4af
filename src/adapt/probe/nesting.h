// State of nested calls of a thread: open calls and modules, and whether the probe is at work.
//
// Threads: each has its own; a new step makes all of them empty.
#ifndef SONDE_ADAPT_PROBE_NESTING_H_
#define SONDE_ADAPT_PROBE_NESTING_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::adapt {

struct Nesting {
  bool is_busy = false;              // the probe is at work: its calls are not recorded
  int depth = 0;                     // open calls of wrapped functions
  std::vector<std::string> modules;  // open modules, outermost first
  uint64_t step = 0;
};

// Of the calling thread.
Nesting& ThisNesting();

// The probe is at work in this thread.
class Busy {
 public:
  explicit Busy(Nesting& nesting) : nesting_(nesting) { nesting_.is_busy = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { nesting_.is_busy = false; }

 private:
  Nesting& nesting_;
};

// [GIL] Calls and modules that are still open in the step that ends are forgotten.
void ForgetNesting();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_NESTING_H_
