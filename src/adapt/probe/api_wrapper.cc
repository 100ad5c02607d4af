#include "adapt/probe/api_wrapper.h"

#include <cstring>
#include <memory>

#include "adapt/probe/api_calls.h"

namespace sonde::adapt {
namespace {

// Numbers of slots in the stable ABI.
constexpr int kSlotCall = 50;
constexpr int kSlotDescriptorGet = 54;
constexpr int kSlotAttribute = 58;
constexpr int kSlotHash = 59;
constexpr int kSlotCompare = 67;
constexpr int kSlotMembers = 72;
constexpr int kCompareEqual = 2;
constexpr int kCompareUnequal = 3;
// Of types: HAVE_VECTORCALL, METHOD_DESCRIPTOR (called unbound through an instance),
// HAVE_VERSION_TAG.
constexpr unsigned int kVectorcallFlag = 1U << 11;
constexpr unsigned int kDescriptorFlag = 1U << 17;
constexpr unsigned int kVersionFlag = 1U << 18;

const PythonCalls& Python() { return TheApiCalls().python(); }
ApiCall& CallOf(PyObject* self) { return *reinterpret_cast<ApiCall*>(self); }

PyObject* OnCall(PyObject* self, PyObject* const* args, size_t count_flags, PyObject* names) {
  return TheApiCalls().Call(CallOf(self), args, count_flags, names);
}

PyObject* OnGet(PyObject* self, PyObject* instance, PyObject*) {
  if (instance != nullptr) return Python().method_new(self, instance);
  Python().retain(self);
  return self;
}

PyObject* Reduce(PyObject* self, PyObject*) {
  return Python().get_attribute(CallOf(self).original, "__name__");
}

PyMethod g_reduce = {"__reduce_ex__", Reduce, kPyMethodVarargs, nullptr};

PyObject* OnAttribute(PyObject* self, PyObject* name) {
  const char* text = Python().utf8(name, nullptr);
  if (text == nullptr) return nullptr;
  if (std::strcmp(text, "__class__") == 0) return Python().generic_get_attribute(self, name);
  // copy and pickle take it for the name of a global object, and do not copy it.
  if (std::strncmp(text, "__reduce", 8) == 0)
    return Python().function_new(&g_reduce, self, nullptr);
  return Python().get_attribute_object(CallOf(self).original, name);
}

intptr_t OnHash(PyObject* self) { return Python().hash(CallOf(self).original); }

PyObject* Unwrapped(PyObject* object, const PyObject* type) {
  return object->type == type ? CallOf(object).original : object;
}

PyObject* OnCompare(PyObject* self, PyObject* other, int operation) {
  const PyObject* const type = self->type;
  PyObject* answer = Python().not_implemented;
  if (operation == kCompareEqual || operation == kCompareUnequal) {
    const bool is_same = Unwrapped(self, type) == Unwrapped(other, type);
    answer = is_same == (operation == kCompareEqual) ? Python().true_object : Python().false_object;
  }
  Python().retain(answer);
  return answer;
}

thread_local bool t_is_inside = false;  // an outermost call of this thread

// Calls `end` and keeps the exception of the call that ended. False: `end` itself raised one.
bool CallAtEnd(PyObject* end) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  Python().error_fetch(&type, &value, &trace);
  const PyOwned done(Python(), Python().call(end, nullptr));
  if (done) {
    Python().error_restore(type, value, trace);
    return true;
  }
  for (PyObject* object : {type, value, trace}) Python().release(object);
  return false;
}

PyObject* OnOutermost(PyObject* self, PyObject* const* args, size_t count_flags, PyObject* names) {
  const ApiCall& call = CallOf(self);
  if (t_is_inside || (count_flags & ~kOffsetFlag) == 0) {
    return CallOriginal(Python(), call, args, count_flags, names);
  }
  t_is_inside = true;
  const PyOwned answer(Python(), Python().call(call.api->python, args[0], nullptr));
  PyObject* const result =
      answer ? CallOriginal(Python(), call, args, count_flags, names) : nullptr;
  t_is_inside = false;
  const bool is_reported = !answer || answer.get() == Python().none || CallAtEnd(answer.get());
  if (is_reported) return result;
  Python().release(result);
  return nullptr;
}

constexpr int kMemberSize = 19;  // Py_T_PYSSIZET
PyMember g_members[] = {
    {"__vectorcalloffset__", kMemberSize, offsetof(ApiCall, vectorcall), 1, nullptr},
    {"__weaklistoffset__", kMemberSize, offsetof(ApiCall, weak_references), 1, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyObject* MakeWrapperType(const PythonCalls& calls, bool binds) {
  PyTypeSlot slots[] = {{kSlotCall, reinterpret_cast<void*>(calls.vectorcall_call)},
                        {kSlotAttribute, reinterpret_cast<void*>(OnAttribute)},
                        {kSlotHash, reinterpret_cast<void*>(OnHash)},
                        {kSlotCompare, reinterpret_cast<void*>(OnCompare)},
                        {kSlotMembers, g_members},
                        {binds ? kSlotDescriptorGet : 0, reinterpret_cast<void*>(OnGet)},
                        {0, nullptr}};
  const unsigned int flags = kVectorcallFlag | kVersionFlag | (binds ? kDescriptorFlag : 0);
  PyTypeSpec spec = {binds ? "sonde.probe_method" : "sonde.probe_function", sizeof(ApiCall), 0,
                     flags, slots};
  return calls.type_from_spec(&spec);
}

PyObject* WrapperOf(const PythonCalls& calls, PyObject* type, PyObject* original, Api* api) {
  PyObject* const object = calls.generic_alloc(type, 0);
  if (object == nullptr) return nullptr;
  calls.retain(original);
  CallOf(object).vectorcall = OnCall;
  CallOf(object).original = original;
  const bool has_vectorcall = (calls.type_flags(original->type) & kVectorcallFlag) != 0;
  CallOf(object).original_call = has_vectorcall ? VectorcallOf(original) : nullptr;
  CallOf(object).api = api;
  return object;
}

PyObject* OutermostOf(const PythonCalls& calls, PyObject* type, PyObject* original,
                      PyObject* begin) {
  calls.retain(begin);
  auto api = std::make_unique<Api>(Api{.name = {}, .python = begin});
  PyObject* const object = WrapperOf(calls, type, original, api.get());
  if (object == nullptr) return nullptr;
  [[maybe_unused]] const Api* const kept = api.release();
  CallOf(object).vectorcall = OnOutermost;
  return object;
}

PyObject* ArgumentTuple(const PythonCalls& calls, PyObject* const* values, size_t count) {
  PyObject* const tuple = calls.tuple_new(static_cast<intptr_t>(count));
  for (size_t i = 0; tuple != nullptr && i < count; i++) {
    calls.retain(values[i]);  // the tuple takes the reference
    calls.tuple_set(tuple, static_cast<intptr_t>(i), values[i]);
  }
  return tuple;
}

PyObject* ArgumentDict(const PythonCalls& calls, PyObject* names, PyObject* const* values) {
  PyObject* const dict = calls.dict_new();
  const intptr_t count = names != nullptr ? calls.tuple_size(names) : 0;
  for (intptr_t i = 0; dict != nullptr && i < count; i++) {
    calls.dict_set_item(dict, calls.tuple_get(names, i), values[i]);
  }
  return dict;
}

PyObject* CallOriginal(const PythonCalls& calls, const ApiCall& call, PyObject* const* args,
                       size_t count_flags, PyObject* names) {
  if (call.original_call != nullptr) [[likely]] {
    return call.original_call(call.original, args, count_flags, names);
  }
  const size_t count = count_flags & ~kOffsetFlag;
  const PyOwned tuple(calls, ArgumentTuple(calls, args, count));
  const PyOwned dict(calls, ArgumentDict(calls, names, args + count));
  if (!tuple || !dict) return nullptr;
  return calls.call_with(call.original, tuple.get(), dict.get());
}

}  // namespace sonde::adapt
