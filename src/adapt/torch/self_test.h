// Finds and verifies, at attach, the offsets of the fields that the adapter reads in this torch.
//
// A load of the library proves nothing about layouts, and wrong sequence numbers come silently.
// Therefore: a short torch program whose every name, shape, type and sequence number is known runs
// under a callback of this thread only. Each offset counts only if its values agree with those of
// the public functions or Python. A part that fails is switched off and reported. Cost: a few
// milliseconds, once. The program uses no random numbers and no accelerator. Threads: with the GIL
// held; not re-entrant.
#ifndef SONDE_ADAPT_TORCH_SELF_TEST_H_
#define SONDE_ADAPT_TORCH_SELF_TEST_H_

#include "adapt/python/python_api.h"
#include "adapt/python/self_test_report.h"
#include "adapt/torch/layout.h"
#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {

// Returns the layout in which every found offset is verified; notes each part in `report`. `given`:
// tried instead of the known ones; nullptr: none. It must live as long as the layout is used.
Layout RunSelfTest(const PythonApi& python, const TorchSymbols& torch, const RangeLayout* given,
                   SelfTestReport* report);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_SELF_TEST_H_
