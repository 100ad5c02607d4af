// One range per nn.Module call, named by the module's path in the model.
//
// While a session with modules runs, torch.nn.Module.__call__ is a C callable of ours, which
// records and calls the previous one. After many sessions it stays and only forwards calls, since
// CPython limits how often a class may change. It is taken out while torch.compile traces a
// function (a C callable breaks the graph, and fullgraph=True refuses it), on notice of Dynamo's
// own start and end callbacks, which survive torch._dynamo.reset(). Compiled code calls no modules.
// Classes with a __call__ of their own are not seen; they show as gaps.
//
// Names: a module without a name that is called outside any other module is taken as the root of a
// model, and its named_modules() are entered; others are named by their class. Python can enter
// names before (sonde_torch_register_module). Entries hold weak references. A module met inside a
// model that has no name yet causes another walk of the model's tree, as often as module_walks.h
// allows. Threads: everything except the lookup tables of the recorder happens under the GIL.
#ifndef SONDE_ADAPT_TORCH_MODULES_H_
#define SONDE_ADAPT_TORCH_MODULES_H_

#include "adapt/python/python_api.h"
#include "adapt/torch/self_test.h"

namespace sonde::adapt {

// [GIL] False: modules are not recorded. `python` must live as long as the process.
bool ModulesInit(const PythonApi* python, SelfTestReport* report);
// Take the GIL themselves.
void ModulesStart();
void ModulesStop();
// [GIL] False: no weak reference to the object can be made, or modules are not recorded.
bool ModulesRegister(PyObject* module, const char* name, const char* class_name);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_MODULES_H_
