// The Python interface: sonde_probe_functions(), opened by ctypes, gives a dict with open(), add()
// and the others, which are bound to a recorder of their own.
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapt/probe/api_calls.h"
#include "adapt/probe/api_functions.h"
#include "adapt/probe/python_method.h"
#include "adapt/probe/recorder.h"
#include "adapt/python/python_frames.h"
#include "adapt/torch/self_test.h"

namespace sonde::adapt {
namespace {

constexpr const char* kCapsuleName = "sonde.probe";
// Process-wide as the interpreter is; filled once by sonde_probe_functions().
PythonCalls g_calls;

using Arguments = PyObject* const*;

Recorder* RecorderOf(PyObject* self) {
  return static_cast<Recorder*>(g_calls.capsule_get(self, kCapsuleName));
}

void DestroyRecorder(PyObject* capsule) {
  Recorder* const recorder = RecorderOf(capsule);
  TheApiCalls().Forget(recorder);
  delete recorder;
}

PyObject* None() {
  g_calls.retain(g_calls.none);
  return g_calls.none;
}

PyObject* Raise(const std::string& text) {
  g_calls.raise(g_calls.runtime_error, text.c_str());
  return nullptr;
}

bool CheckCount(intptr_t count, intptr_t wanted) {
  if (count == wanted) return true;
  Raise("sonde probe: wrong number of arguments");
  return false;
}

std::string Text(PyObject* object) {
  std::string_view text;
  return object != g_calls.none && TextOf(g_calls, object, &text) ? std::string(text)
                                                                  : std::string();
}

// open(folder, main_file, head, tensor_folder, with_stacks, with_construct, with_apis,
// waiting_bytes)
PyObject* Open(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 8)) return nullptr;
  const Status status = RecorderOf(self)->Open({.folder = Text(args[0]),
                                                .main_file = Text(args[1]),
                                                .head = Text(args[2]),
                                                .tensor_folder = Text(args[3]),
                                                .with_stacks = args[4] == g_calls.true_object,
                                                .with_construct = args[5] == g_calls.true_object,
                                                .with_apis = args[6] == g_calls.true_object,
                                                .waiting_bytes = g_calls.long_as_u64(args[7])});
  if (!status.ok()) return Raise(std::string(status.message()));
  return None();
}

// add(name, key, io, value, flags)
PyObject* Add(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 5)) return nullptr;
  std::string_view key;
  std::string_view io;
  if (!TextOf(g_calls, args[1], &key) || !TextOf(g_calls, args[2], &io)) {
    return Raise("sonde probe: key and io must be texts");
  }
  const uint64_t flags = g_calls.long_as_u64(args[4]);
  if (!RecorderOf(self)->Add(Text(args[0]), key, io, args[3], flags)) return nullptr;
  return None();
}

// inputs(name, args, kwargs, flags): both, and the call path if a flag is set; with kModule a
// module begins before that
PyObject* Inputs(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 4)) return nullptr;
  Recorder* const recorder = RecorderOf(self);
  const std::string name = Text(args[0]);
  const uint64_t flags = g_calls.long_as_u64(args[3]);
  if ((flags & kModule) != 0) recorder->construct().BeginModule(name);
  if (!recorder->Add(name, "input_args", "input", args[1], flags) ||
      !recorder->Add(name, "input_kwargs", "kwargs", args[2], flags)) {
    return nullptr;
  }
  if ((flags & kWithStack) != 0 && !recorder->AddStack(name)) return nullptr;
  return None();
}

// outputs(name, output, parameters, flags): a tuple and a dict; the forward of a module is then
// complete, and with kModule the module ends
PyObject* Outputs(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 4)) return nullptr;
  Recorder* const recorder = RecorderOf(self);
  const std::string name = Text(args[0]);
  const uint64_t flags = g_calls.long_as_u64(args[3]);
  const uint64_t part_flags = flags & ~kPlace;
  if (!recorder->Add(name, "output", "output", args[1], flags) ||
      !recorder->Add(name, "parameters", "parameters", args[2], part_flags | kFinish)) {
    return nullptr;
  }
  if ((flags & kModule) != 0) recorder->construct().EndModule(name);
  return None();
}

// gradients(name, input, output, flags): both parts of a backward call, which is then complete
PyObject* Gradients(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 4)) return nullptr;
  const uint64_t flags = g_calls.long_as_u64(args[3]);
  if (!RecorderOf(self)->AddGradients(Text(args[0]), args[1], args[2], flags)) return nullptr;
  return None();
}

PyObject* Finish(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->Finish(Text(args[0]));
  return None();
}

PyObject* Remove(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->Remove(Text(args[0]));
  return None();
}

PyObject* Stack(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  return RecorderOf(self)->AddStack(Text(args[0])) ? None() : nullptr;
}

// place(name): a call ends that leaves no entry
PyObject* Place(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->Place(Text(args[0]));
  return None();
}

PyObject* BeginModule(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->construct().BeginModule(Text(args[0]));
  return None();
}

PyObject* EndModule(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->construct().EndModule(Text(args[0]));
  return None();
}

// status(text): "optimizer", "clip_grad" or ""
PyObject* SetStatus(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->construct().SetStatus(Text(args[0]));
  return None();
}

// use(flags, is_general, places_unwanted): calls of torch's functions are recorded by this one
PyObject* Use(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 3)) return nullptr;
  TheApiCalls().Use(RecorderOf(self), g_calls.long_as_u64(args[0]), args[1] == g_calls.true_object,
                    args[2] == g_calls.true_object);
  return None();
}

PyObject* Settle(PyObject* self, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  Recorder* const recorder = RecorderOf(self);
  if (!recorder->FetchNumbers()) return nullptr;
  const Status status = recorder->Settle();
  if (!status.ok()) return Raise(std::string(status.message()));
  return None();
}

PyObject* MovedTo(PyObject* self, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  RecorderOf(self)->MovedTo(Text(args[0]));
  return None();
}

PyObject* Close(PyObject* self, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  RecorderOf(self)->Close();
  return None();
}

PyObject* TakeError(PyObject* self, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  const std::string text = RecorderOf(self)->TakeError();
  return g_calls.text_from(text.data(), static_cast<intptr_t>(text.size()));
}

PyObject* TakeBad(PyObject* self, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  PyObject* const answer = RecorderOf(self)->TakeBad() ? g_calls.true_object : g_calls.none;
  g_calls.retain(answer);
  return answer;
}

// reads_memory(): whether tensors are read without calling Python
PyObject* ReadsMemory(PyObject* self, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  const bool reads = RecorderOf(self)->reader().reads_memory();
  PyObject* const answer = reads ? g_calls.true_object : g_calls.false_object;
  g_calls.retain(answer);
  return answer;
}

// The interpreter keeps pointers to these.
std::array<PyMethod, 19> g_methods = {
    Method("take_bad", &TakeBad),
    Method("inputs", &Inputs),
    Method("outputs", &Outputs),
    Method("gradients", &Gradients),
    Method("open", &Open),
    Method("add", &Add),
    Method("finish", &Finish),
    Method("remove", &Remove),
    Method("stack", &Stack),
    Method("place", &Place),
    Method("begin_module", &BeginModule),
    Method("end_module", &EndModule),
    Method("status", &SetStatus),
    Method("use", &Use),
    Method("settle", &Settle),
    Method("moved_to", &MovedTo),
    Method("close", &Close),
    Method("take_error", &TakeError),
    Method("reads_memory", &ReadsMemory),
};

bool ReadDtypes(PyObject* list, std::unordered_map<PyObject*, DtypeInfo>* out) {
  for (intptr_t i = 0; i < g_calls.list_size(list); i++) {
    PyObject* entry = g_calls.list_get(list, i);
    PyObject* const dtype = g_calls.tuple_get(entry, 0);
    g_calls.retain(dtype);
    (*out)[dtype] = {
        .name = Text(g_calls.tuple_get(entry, 1)),
        .type = static_cast<probe::ElementType>(g_calls.long_as_u64(g_calls.tuple_get(entry, 2))),
        .element_bytes = g_calls.long_as_u64(g_calls.tuple_get(entry, 3))};
  }
  return g_calls.error_occurred() == nullptr;
}

uint64_t Number(PyObject* sample, intptr_t index) {
  return g_calls.long_as_u64(g_calls.tuple_get(sample, index));
}

std::vector<int64_t> Numbers(PyObject* tuple) {
  std::vector<int64_t> numbers;
  for (intptr_t i = 0; i < g_calls.tuple_size(tuple); i++) {
    numbers.push_back(g_calls.long_as_i64(g_calls.tuple_get(tuple, i)));
  }
  return numbers;
}

std::vector<TensorSample> ReadSamples(PyObject* list) {
  std::vector<TensorSample> samples;
  for (intptr_t i = 0; i < g_calls.list_size(list); i++) {
    PyObject* const sample = g_calls.list_get(list, i);
    samples.push_back({.object = g_calls.tuple_get(sample, 0),
                       .address = Number(sample, 1),
                       .storage = Number(sample, 2),
                       .storage_data = Number(sample, 3),
                       .storage_offset = Number(sample, 4),
                       .keys = Number(sample, 5),
                       .type = Number(sample, 6),
                       .requires_grad = g_calls.tuple_get(sample, 7) == g_calls.true_object,
                       .shape = Numbers(g_calls.tuple_get(sample, 8)),
                       .strides = Numbers(g_calls.tuple_get(sample, 9))});
  }
  return samples;
}

std::vector<PyObject*> ReadTypes(PyObject* list) {
  std::vector<PyObject*> types;
  for (intptr_t i = 0; i < g_calls.list_size(list); i++) {
    types.push_back(g_calls.list_get(list, i));
    g_calls.retain(types.back());
  }
  return types;
}

// Object `name` of the set-up, retained; nullptr for None and where there is none.
PyObject* Setting(PyObject* setup, const char* name) {
  PyObject* const value = g_calls.dict_get(setup, name);
  if (value == nullptr || value == g_calls.none) return nullptr;
  g_calls.retain(value);
  return value;
}

RenderOptions ReadOptions(PyObject* setup) {
  RenderOptions options;
  options.describe = Setting(setup, "describe");
  options.fetch = Setting(setup, "fetch");
  options.mark = Text(g_calls.dict_get(setup, "mark"));
  options.slice = Setting(setup, "slice");
  options.summary =
      static_cast<SummaryMode>(g_calls.long_as_u64(g_calls.dict_get(setup, "summary")));
  options.extension = Text(g_calls.dict_get(setup, "extension"));
  options.statistics.with_sums = g_calls.dict_get(setup, "with_sums") == g_calls.true_object;
  options.statistics.mean_rounds_sum =
      g_calls.dict_get(setup, "mean_rounds_sum") == g_calls.true_object;
  return options;
}

bool FindCalls() {
  if (g_calls.version != nullptr) return true;
  if (FindPythonCalls(&g_calls) != nullptr) return false;
  SelfTestReport report;
  FramesInit(&g_calls, &report);  // without it there are no stacks
  return true;
}

}  // namespace
}  // namespace sonde::adapt

extern "C" {

// [GIL] A new dict of the functions that make and control wrappers: see api_functions.h.
__attribute__((visibility("default"))) sonde::adapt::PyObject* sonde_probe_api_functions(
    sonde::adapt::PyObject* setup) {
  using namespace sonde::adapt;  // NOLINT(google-build-using-namespace): inside a function
  return FindCalls() ? MakeApiFunctions(g_calls, setup) : nullptr;
}

// [GIL] A replacement of `original`, a method. It calls begin(instance) first where the thread is
// in no other call of it, and at the end the callable that begin returned, unless None. nullptr
// with a Python exception.
__attribute__((visibility("default"))) sonde::adapt::PyObject* sonde_probe_outermost(
    sonde::adapt::PyObject* original, sonde::adapt::PyObject* begin) {
  using namespace sonde::adapt;  // NOLINT(google-build-using-namespace): inside a function
  if (!FindCalls() || !TheApiCalls().Prepare(&g_calls)) return nullptr;
  return TheApiCalls().WrapOutermost(original, begin);
}

// [GIL] A new dict of functions over a new recorder, or nullptr with a Python exception; the text
// of a failure that leaves no exception is in `problem`. `setup` is a dict: dtypes (list of
// (torch.dtype, name, ElementType, bytes)), tensor_types, samples (list of tuples, as TensorSample;
// may be empty), describe, fetch, mark, describe_frame, slice, summary, extension, with_sums,
// mean_rounds_sum.
__attribute__((visibility("default"))) sonde::adapt::PyObject* sonde_probe_functions(
    sonde::adapt::PyObject* setup) {
  using namespace sonde::adapt;  // NOLINT(google-build-using-namespace): inside a function
  if (!FindCalls()) return nullptr;
  std::unordered_map<PyObject*, DtypeInfo> dtypes;
  if (!ReadDtypes(g_calls.dict_get(setup, "dtypes"), &dtypes)) return nullptr;
  TensorReader reader(g_calls, std::move(dtypes),
                      ReadTypes(g_calls.dict_get(setup, "tensor_types")));
  reader.Learn(ReadSamples(g_calls.dict_get(setup, "samples")));
  auto recorder = std::make_unique<Recorder>(g_calls, std::move(reader), ReadOptions(setup),
                                             Setting(setup, "describe_frame"));
  PyObject* const capsule = g_calls.capsule_new(recorder.release(), kCapsuleName, &DestroyRecorder);
  PyObject* const functions = g_calls.dict_new();
  for (PyMethod& method : g_methods) {
    const PyOwned function(g_calls, g_calls.function_new(&method, capsule, nullptr));
    g_calls.dict_set(functions, method.name, function.get());
  }
  g_calls.release(capsule);
  return functions;
}

}  // extern "C"
