// Pauses of Python's garbage collector, by an entry in gc.callbacks while a session asks for them.
//
// A collection that takes at least the threshold becomes one record of its thread, with the
// generation and the number of objects collected. Threads: callbacks come under the GIL.
#ifndef SONDE_ADAPT_PYTHON_GARBAGE_COLLECTION_H_
#define SONDE_ADAPT_PYTHON_GARBAGE_COLLECTION_H_

#include "adapt/python/python_api.h"
#include "adapt/python/self_test_report.h"

namespace sonde::adapt {

// [GIL] `python` must live as long as the process.
void GarbageCollectionInit(const PythonApi* python, SelfTestReport* report);
// Take the GIL themselves. threshold_ms 0: every collection.
void GarbageCollectionStart(double threshold_ms);
void GarbageCollectionStop();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_GARBAGE_COLLECTION_H_
