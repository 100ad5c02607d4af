// One range per call of a Python function, while a session asks for it ("python_functions").
//
// Off by default: it taxes every Python call of the program (about 0.1 us) and there are many. Uses
// the C profile function of each thread, of which there is only one. Where the thread that starts
// the session has one (cProfile, a debugger), nothing is recorded and an issue reports it. A
// function that is set during the session (torch.profiler with stacks) ends ours and is cleared by
// our stop. Threads started later are followed through threading.setprofile. C functions are not
// recorded. Threads: everything happens under the GIL.
#ifndef SONDE_ADAPT_PYTHON_PYTHON_FUNCTIONS_H_
#define SONDE_ADAPT_PYTHON_PYTHON_FUNCTIONS_H_

#include "adapt/python/python_api.h"
#include "adapt/python/self_test_report.h"

namespace sonde::adapt {

// [GIL] `python` must live as long as the process.
void PythonFunctionsInit(const PythonApi* python, SelfTestReport* report);
// Take the GIL themselves.
void PythonFunctionsStart();
void PythonFunctionsStop();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_PYTHON_FUNCTIONS_H_
