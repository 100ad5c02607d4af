#include "adapt/torch/self_test.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

namespace sonde::adapt {
namespace {

constexpr char kRangeName[] = "sonde self-test: a range with a name of its own";
constexpr int kMaxSamples = 96;
constexpr int kMaxValues = 12;
constexpr int kPyFileInput = 257;

// The program. It leaves the expected values of the checks in its globals.
constexpr char kProgram[] = R"py(
import torch
C = torch._C
version = str(torch.__version__)

def prepare():
    one = lambda shape, dtype: torch.ones(shape, dtype=dtype, device="cpu")
    tensors = [
        one((3, 5), torch.float32),
        one((2, 7, 11), torch.int64),
        one((2, 1, 3, 1, 1, 4, 2), torch.bfloat16),
        one((13,), torch.float64),
        one((4, 2), torch.bool),
        one((6, 9), torch.complex64).conj(),
        torch.empty((17, 19), device="meta"),
    ]
    return tensors

class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_wrapper_subclass(cls, (2,), dtype=torch.float32)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError

with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
    tensors = prepare()
    addresses = [t._cdata for t in tensors]
    shapes = [list(t.shape) for t in tensors]
    wrapper = Wrapper()
    wrapper_address = wrapper._cdata
    # Conjugate first; the rest are the keys of tensors whose sizes may not be read.
    key_numbers = [int(getattr(C.DispatchKey, name)) for name in (
        "Conjugate", "Python", "NestedTensor", "Functionalize", "FuncTorchBatched",
        "FuncTorchGradWrapper")]
    weight = torch.ones((5, 7), device="cpu", requires_grad=True)
    bias = torch.ones((7,), device="cpu")
    begin()
    try:
        with torch.autograd.profiler.record_function(range_name, "sonde arguments"):
            pass
        product = torch.addmm(bias, tensors[0], weight)
        sequence = product.grad_fn._sequence_nr()
        joined = torch.cat([tensors[0], tensors[0], tensors[0]])
        reduced = torch.sum(tensors[3], [0], True)
        # The node alone: autograd's engine would begin threads for all devices, which starts CUDA's
        # driver, and then no process that the program forks could use a GPU.
        product.grad_fn(torch.ones_like(product))
    finally:
        end()
    list_address = tensors[0]._cdata
)py";

struct Sample {
  char name[80];
  uint8_t scope;
  uint8_t kind;
  bool schema_name;
  int64_t sequence;
  uint64_t forward_thread;
  uint64_t thread;
  uint64_t num_inputs;  // from the public function
  uint64_t value_count;
  TorchValue values[kMaxValues];
  uint64_t list_begin;  // of the first list among the values, when its address is plausible
  uint64_t list_end;
  uint64_t list_first_payload;
};

// State of the one test that may run; the callbacks get no user pointer.
struct Recording {
  const TorchSymbols* torch = nullptr;
  const RangeLayout* given = nullptr;
  const RangeLayout* layout = nullptr;
  uint64_t handle = 0;
  int count = 0;
  Sample samples[kMaxSamples];
};
Recording* g_recording = nullptr;

// Whether names are stored as in `layout`. `range` has the name of the test and kind 0.
bool Fits(const RangeLayout& layout, const TorchRange* range, const char* name) {
  const size_t length = layout.old_strings ? ReadAt<uint64_t>(name - kOldStringLength, 0)
                                           : ReadAt<uint64_t>(range, kRangeDescriptor + 8);
  return length == sizeof(kRangeName) - 1 && ReadAt<uint8_t>(range, layout.kind) == 0;
}

const RangeLayout* ChooseLayout(const TorchRange* range, const char* name) {
  if (std::strcmp(name, kRangeName) != 0) return nullptr;
  if (ReadAt<const char*>(range, kRangeDescriptor) != name) return nullptr;
  const RangeLayout* given = g_recording->given;
  if (given != nullptr) return Fits(*given, range, name) ? given : nullptr;
  // For tests: as if this torch were newer than this release.
  if (std::getenv("SONDE_TEST_UNKNOWN_TORCH") != nullptr) return nullptr;
  // The newer first: the check of an old string reads before the characters.
  for (size_t i = std::size(kRangeLayouts); i-- > 0;) {
    if (Fits(kRangeLayouts[i], range, name)) return &kRangeLayouts[i];
  }
  return nullptr;
}

void ReadValues(const TorchRange* range, Sample* sample) {
  const auto* values = ReadAt<const TorchValue*>(range, g_recording->layout->inputs);
  sample->value_count = ReadAt<uint64_t>(range, g_recording->layout->inputs + 8);
  if (sample->value_count != sample->num_inputs || sample->value_count > kMaxValues) return;
  std::memcpy(sample->values, values, sample->value_count * sizeof(TorchValue));
  // torch::cat begins with its list: an object of two words, then a vector of values.
  if (std::strcmp(sample->name, "aten::cat") != 0 || sample->values[0].tag <= kTagInt) return;
  const auto* list = reinterpret_cast<const char*>(sample->values[0].payload);
  sample->list_begin = ReadAt<uint64_t>(list, 16);
  sample->list_end = ReadAt<uint64_t>(list, 24);
  if (sample->list_end - sample->list_begin == 3 * sizeof(TorchValue)) {
    sample->list_first_payload =
        ReadAt<uint64_t>(reinterpret_cast<const void*>(sample->list_begin), 0);
  }
}

ObserverContext OnStart(const TorchRange* range) {
  Recording* r = g_recording;
  if (r == nullptr || r->count >= kMaxSamples) return {};
  Sample& sample = r->samples[r->count];
  const char* name = r->torch->range_name(range);
  if (name == nullptr) return {};
  if (r->layout == nullptr) r->layout = ChooseLayout(range, name);
  if (r->layout == nullptr) return {};
  r->count++;
  std::snprintf(sample.name, sizeof(sample.name), "%s", name);
  sample.scope = ReadAt<uint8_t>(range, kRangeScope);
  sample.kind = ReadAt<uint8_t>(range, r->layout->kind);
  sample.sequence = ReadAt<int64_t>(range, r->layout->sequence);
  sample.forward_thread = ReadAt<uint64_t>(range, r->layout->forward_thread);
  sample.thread = ReadAt<uint64_t>(range, kRangeThread);
  sample.num_inputs = r->torch->range_num_inputs(range);
  const void* descriptor = ReadAt<const void*>(range, kRangeDescriptor);
  sample.schema_name = sample.kind == 1 && ReadAt<const char*>(descriptor, 0) == name;
  ReadValues(range, &sample);
  return {};
}

void OnEnd(const TorchRange*, void*) {}

PyObject* Begin(PyObject*, PyObject*) {
  ObserverCallback callback = {};
  callback.start = OnStart;
  callback.end = OnEnd;
  callback.sampling_probability = 1.0;
  std::memset(callback.scopes, 1, kScopeCount);
  callback.needs_inputs = 1;
  g_recording->handle = g_recording->torch->add_thread_local_callback(callback);
  return nullptr;
}

const Sample* Find(const Recording& r, const char* name) {
  for (int i = 0; i < r.count; i++) {
    if (std::strcmp(r.samples[i].name, name) == 0) return &r.samples[i];
  }
  return nullptr;
}

// Reads the program's results.
class Globals {
 public:
  Globals(const PythonApi& python, PyObject* dict) : python_(python), dict_(dict) {}
  uint64_t Number(const char* name) const {
    PyObject* value = python_.dict_get(dict_, name);
    return value != nullptr ? python_.long_as_u64(value) : 0;
  }
  int Length(const char* name) const {
    PyObject* list = python_.dict_get(dict_, name);
    return list != nullptr ? static_cast<int>(python_.list_size(list)) : 0;
  }
  uint64_t Item(const char* name, int index) const {
    return python_.long_as_u64(python_.list_get(python_.dict_get(dict_, name), index));
  }
  uint64_t Item(const char* name, int index, int inner) const {
    PyObject* row = python_.list_get(python_.dict_get(dict_, name), index);
    return python_.long_as_u64(python_.list_get(row, inner));
  }
  int Length(const char* name, int index) const {
    return static_cast<int>(
        python_.list_size(python_.list_get(python_.dict_get(dict_, name), index)));
  }
  const char* Text(const char* name) const {
    PyObject* value = python_.dict_get(dict_, name);
    const char* text = value != nullptr ? python_.utf8(value, nullptr) : nullptr;
    return text != nullptr ? text : "";
  }

 private:
  const PythonApi& python_;
  PyObject* dict_;
};

constexpr size_t kTensorBytes = 184;  // of a TensorImpl; 176 in newer versions
constexpr uint16_t kTensorDtypes[] = {6, 4, 15, 7, 11, 9, 6};
constexpr int kTensorCount = 7;
constexpr int kConjugateTensor = 5;

bool SizesAt(const Globals& globals, size_t offset) {
  for (int t = 0; t < kTensorCount; t++) {
    const auto* impl = reinterpret_cast<const char*>(globals.Item("addresses", t));
    const auto dim = static_cast<uint64_t>(globals.Length("shapes", t));
    if (ReadAt<uint64_t>(impl, offset) != dim) return false;
    const void* sizes = impl + offset + 8;
    if (dim > kInlineSizes) sizes = ReadAt<const void*>(impl, offset + 8);
    for (uint64_t d = 0; d < dim; d++) {
      if (ReadAt<uint64_t>(sizes, d * 8) != globals.Item("shapes", t, static_cast<int>(d))) {
        return false;
      }
    }
  }
  return true;
}

// The only offset at which all tensors hold the expected values; 0 when there is none or several.
template <typename Predicate>
uint32_t OnlyOffset(size_t step, size_t width, Predicate holds) {
  uint32_t found = 0;
  for (size_t offset = 8; offset + width <= kTensorBytes; offset += step) {
    if (!holds(offset)) continue;
    if (found != 0) return 0;
    found = static_cast<uint32_t>(offset);
  }
  return found;
}

// Key sets are bits: some for back ends, then one for each functionality key. How many back ends
// there are follows from a conjugate view, which differs from its base type in one known key.
uint64_t OpaqueKeysAt(const Globals& globals, size_t offset) {
  auto keys = [&](int t) {
    return ReadAt<uint64_t>(reinterpret_cast<const void*>(globals.Item("addresses", t)), offset);
  };
  const uint64_t plain = keys(0);
  const uint64_t conjugate = plain ^ keys(kConjugateTensor);
  if (keys(1) != plain || keys(2) != plain || !std::has_single_bit(conjugate)) return 0;
  const uint64_t first_key =
      static_cast<uint64_t>(std::countr_zero(conjugate)) - globals.Item("key_numbers", 0);
  uint64_t opaque = 0;
  for (int k = 1; k < globals.Length("key_numbers"); k++) {
    opaque |= uint64_t{1} << ((first_key + globals.Item("key_numbers", k)) % 64);
  }
  const uint64_t python = uint64_t{1} << ((first_key + globals.Item("key_numbers", 1)) % 64);
  const auto* wrapper = reinterpret_cast<const void*>(globals.Number("wrapper_address"));
  const bool proven = (plain & opaque) == 0 && (ReadAt<uint64_t>(wrapper, offset) & python) != 0;
  return proven ? opaque : 0;
}

void FindKeys(const Globals& globals, Layout* layout) {
  layout->tensor_keys =
      OnlyOffset(8, 8, [&](size_t offset) { return OpaqueKeysAt(globals, offset) != 0; });
  if (layout->tensor_keys != 0) layout->opaque_keys = OpaqueKeysAt(globals, layout->tensor_keys);
}

void FindTensorFields(const Globals& globals, Layout* layout, SelfTestReport* report) {
  char detail[160];
  if (globals.Length("addresses") != kTensorCount) {
    report->Add("tensor sizes", false, "test tensors missing; shapes are not recorded");
    return;
  }
  auto impl = [&](int t) { return reinterpret_cast<const char*>(globals.Item("addresses", t)); };
  layout->tensor_sizes = OnlyOffset(8, 48, [&](size_t offset) { return SizesAt(globals, offset); });
  layout->tensor_dtype = OnlyOffset(2, 2, [&](size_t offset) {
    for (int t = 0; t < kTensorCount; t++) {
      if (ReadAt<uint16_t>(impl(t), offset) != kTensorDtypes[t]) return false;
    }
    return true;
  });
  FindKeys(globals, layout);
  std::snprintf(detail, sizeof(detail), "sizes at %u, type at %u, keys at %u of a tensor",
                layout->tensor_sizes, layout->tensor_dtype, layout->tensor_keys);
  const bool ok = layout->tensor_sizes != 0 && layout->tensor_dtype != 0 &&
                  layout->tensor_keys != 0 && layout->opaque_keys != 0;
  report->Add("tensor sizes", ok, ok ? detail : "fields not found; shapes are not recorded");
  if (!ok) layout->tensor_sizes = layout->tensor_dtype = layout->tensor_keys = 0;
}

void CheckInputs(const Recording& r, const Globals& globals, Layout* layout,
                 SelfTestReport* report) {
  const Sample* range = Find(r, kRangeName);
  const Sample* addmm = Find(r, "aten::addmm");
  const Sample* cat = Find(r, "aten::cat");
  const Sample* sum = Find(r, "aten::sum");
  const uint64_t x = globals.Number("list_address");
  layout->inputs = addmm != nullptr && addmm->num_inputs == 5 && addmm->value_count == 5 &&
                   addmm->values[0].tag == kTagTensor && addmm->values[1].tag == kTagTensor &&
                   addmm->values[1].payload == x && addmm->values[3].tag == kTagInt &&
                   addmm->values[3].payload == 1;
  if (range != nullptr && range->value_count >= 1 && range->num_inputs == range->value_count &&
      range->values[0].tag > kTagInt) {
    layout->tag_string = range->values[0].tag;
  }
  if (cat != nullptr && cat->list_first_payload == x && x != 0) {
    layout->tag_list = cat->values[0].tag;
    layout->list_vector = 16;
  }
  for (const Sample* s = r.samples; s < r.samples + r.count && layout->tag_bool == 0; s++) {
    if (sum == nullptr || std::strcmp(s->name, "aten::sum") != 0) continue;
    if (s->value_count == 4 && s->num_inputs == 4 && s->values[2].payload % 256 == 1) {
      layout->tag_bool = s->values[2].tag;
    }
  }
  char detail[160];
  std::snprintf(detail, sizeof(detail), "value tags: bool %u, string %u, list %u", layout->tag_bool,
                layout->tag_string, layout->tag_list);
  report->Add("operator inputs", layout->inputs,
              layout->inputs ? detail : "inputs not readable; shapes are not recorded");
  report->Add("tensor lists", layout->tag_list != 0,
              layout->tag_list != 0 ? "" : "lists are recorded without their tensors");
}

void CheckSequence(const Recording& r, const Globals& globals, Layout* layout,
                   SelfTestReport* report) {
  const Sample* addmm = Find(r, "aten::addmm");
  const Sample* backward = Find(r, "AddmmBackward0");
  const auto expected = static_cast<int64_t>(globals.Number("sequence"));
  layout->sequence = addmm != nullptr && addmm->sequence == expected && backward != nullptr &&
                     backward->scope == kScopeBackward && backward->sequence == expected &&
                     backward->forward_thread == addmm->thread;
  report->Add("sequence numbers", layout->sequence,
              layout->sequence ? "agree with autograd in forward and backward"
                               : "not readable; backward is not tied to forward");
}

void CheckRecording(const Recording& r, const Globals& globals, Layout* layout,
                    SelfTestReport* report) {
  layout->range = r.layout;
  report->Add(
      "range layout", r.layout != nullptr,
      r.layout != nullptr ? r.layout->label : "unknown to this release; names and times only");
  if (r.layout == nullptr) return;
  const Sample* addmm = Find(r, "aten::addmm");
  const Sample* range = Find(r, kRangeName);
  const bool kinds = addmm != nullptr && addmm->kind == 1 && addmm->scope == kScopeFunction &&
                     range != nullptr && range->kind == 0 && range->scope == kScopeUser;
  report->Add("operator kinds", kinds, kinds ? "" : "not readable; names and times only");
  if (!kinds) {
    layout->range = nullptr;
    return;
  }
  layout->schema_names = addmm->schema_name;
  report->Add("operator names", layout->schema_names,
              layout->schema_names ? "" : "read by torch's own function, more slowly");
  CheckSequence(r, globals, layout, report);
  CheckInputs(r, globals, layout, report);
  FindTensorFields(globals, layout, report);
}

// Functions that the program calls; they need an object to return, hence the wrappers around None.
struct Switches {
  const PythonApi* python;
  PyObject* none;
};
Switches g_switches;

PyObject* PyBegin(PyObject* self, PyObject* argument) {
  Begin(self, argument);
  g_switches.python->retain(g_switches.none);
  return g_switches.none;
}

PyObject* PyEnd(PyObject*, PyObject*) {
  if (g_recording->handle != 0) g_recording->torch->remove_callback(g_recording->handle);
  g_recording->handle = 0;
  g_switches.python->retain(g_switches.none);
  return g_switches.none;
}

PyMethod g_begin = {"begin", PyBegin, kPyMethodVarargs, nullptr};
PyMethod g_end = {"end", PyEnd, kPyMethodVarargs, nullptr};

}  // namespace

Layout RunSelfTest(const PythonApi& python, const TorchSymbols& torch, const RangeLayout* given,
                   SelfTestReport* report) {
  Layout layout;
  static Recording recording;
  recording = Recording();
  recording.torch = &torch;
  recording.given = given;
  g_recording = &recording;
  PyObject* globals = python.dict_new();
  PyObject* builtins = python.import_module("builtins");
  g_switches = {&python, python.get_attribute(builtins, "None")};
  python.dict_set(globals, "__builtins__", builtins);
  PyObject* begin = python.function_new(&g_begin, nullptr, nullptr);
  PyObject* end = python.function_new(&g_end, nullptr, nullptr);
  PyObject* name = python.unicode(kRangeName);
  python.dict_set(globals, "begin", begin);
  python.dict_set(globals, "end", end);
  python.dict_set(globals, "range_name", name);
  PyObject* result = python.run_string(kProgram, kPyFileInput, globals, globals, nullptr);
  Globals left(python, globals);
  std::snprintf(report->torch_version, sizeof(report->torch_version), "%s", left.Text("version"));
  if (result == nullptr) {
    char error[120];
    TakeError(python, error, sizeof(error));
    report->Add("test program", false, error);
  } else {
    CheckRecording(recording, left, &layout, report);
  }
  if (python.error_occurred() != nullptr) python.error_clear();
  for (PyObject* object : {result, begin, end, name, globals, builtins}) python.release(object);
  g_recording = nullptr;
  return layout;
}

}  // namespace sonde::adapt
