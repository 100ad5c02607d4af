// The few CPython functions that adapters call, resolved in the running process: one binary serves
// Python 3.9 to 3.13 and links with none of them.
//
// Objects are opaque; only the first two words of every object (reference count, type) and a few
// fields of PyTypeObject that have not moved since Python 3.8 are read.
// Threads: Find() once at attach; all calls except gil_* need the GIL.
#ifndef SONDE_ADAPT_PYTHON_PYTHON_API_H_
#define SONDE_ADAPT_PYTHON_PYTHON_API_H_

#include <cstddef>
#include <cstdint>

namespace sonde::adapt {

struct PyObject {
  intptr_t references;
  PyObject* type;
};
using PyVectorcall = PyObject* (*)(PyObject* callable, PyObject* const* args, size_t count_flags,
                                   PyObject* keyword_names);

// PyType_Spec and PyType_Slot of the stable ABI.
struct PyTypeSlot {
  int slot;
  void* function;
};
struct PyTypeSpec {
  const char* name;
  int basic_size;
  int item_size;
  unsigned int flags;
  PyTypeSlot* slots;
};
struct PyMember {
  const char* name;
  int type;
  intptr_t offset;
  int flags;
  const char* doc;
};
struct PyMethod {
  const char* name;
  PyObject* (*function)(PyObject* self, PyObject* argument);
  int flags;
  const char* doc;
};
inline constexpr int kPyMethodVarargs = 1;
inline constexpr int kPyMethodOneArgument = 8;

struct PythonApi {
  const char* version;  // "3.11.7 ..."
  int minor;            // 11
  bool free_threaded;   // built without the GIL: nothing that relies on it is recorded

  int (*is_initialized)();
  int (*is_finalizing)();
  int (*gil_ensure)();
  void (*gil_release)(int state);
  int (*gil_check)();  // does this thread hold it?
  void* (*save_thread)();
  void (*restore_thread)(void* state);
  void* (*gil_this_thread_state)();

  PyObject* (*run_string)(const char* code, int start, PyObject* globals, PyObject* locals,
                          void* flags);
  PyObject* (*import_module)(const char* name);
  PyObject* (*dict_new)();
  PyObject* (*dict_get)(PyObject* dict, const char* key);  // borrowed
  int (*dict_set)(PyObject* dict, const char* key, PyObject* value);
  intptr_t (*list_size)(PyObject* list);
  PyObject* (*list_get)(PyObject* list, intptr_t index);  // borrowed
  int (*list_append)(PyObject* list, PyObject* item);
  PyObject* (*tuple_get)(PyObject* tuple, intptr_t index);  // borrowed
  unsigned long long (*long_as_u64)(PyObject* number);      // NOLINT(google-runtime-int)
  PyObject* (*long_from_u64)(unsigned long long);           // NOLINT(google-runtime-int)
  const char* (*utf8)(PyObject* text, intptr_t* size);
  PyObject* (*unicode)(const char* utf8);
  PyObject* (*get_attribute)(PyObject* object, const char* name);
  PyObject* (*get_attribute_object)(PyObject* object, PyObject* name);
  PyObject* (*generic_get_attribute)(PyObject* object, PyObject* name);
  int (*set_attribute)(PyObject* object, const char* name, PyObject* value);
  PyObject* (*call)(PyObject* callable, ...);  // objects, ended by nullptr
  PyObject* (*str)(PyObject* object);
  PyObject* (*iterator)(PyObject* object);
  PyObject* (*next)(PyObject* iterator);
  PyObject* (*vectorcall_call)(PyObject* callable, PyObject* tuple, PyObject* dict);
  PyObject* (*type_from_spec)(PyTypeSpec* spec);
  PyObject* (*generic_alloc)(PyObject* type, intptr_t items);
  PyObject* (*function_new)(PyMethod* method, PyObject* self, PyObject* module);
  PyObject* (*method_new)(PyObject* function, PyObject* self);
  PyObject* (*weak_reference)(PyObject* object, PyObject* callback);
  PyObject* (*error_occurred)();
  void (*error_clear)();
  void (*error_fetch)(PyObject** type, PyObject** value, PyObject** trace);
  void (*error_restore)(PyObject* type, PyObject* value, PyObject* trace);
  void (*retain)(PyObject* object);   // Py_IncRef
  void (*release)(PyObject* object);  // Py_DecRef, nullptr allowed
};

// Fills `api`. Returns nullptr, or the name of what the process lacks.
[[nodiscard]] const char* FindPython(PythonApi* api);

// tp_name, tp_vectorcall_offset: unmoved since Python 3.8.
const char* TypeName(const PyObject* type);
PyVectorcall VectorcallOf(const PyObject* callable);

// Holds the GIL of a process whose interpreter still runs; held() is false when it does not (any
// more), and then nothing of Python may be called.
class GilScope {
 public:
  explicit GilScope(const PythonApi& python) : python_(python) {
    held_ = python.is_initialized() != 0 && python.is_finalizing() == 0;
    if (held_) state_ = python.gil_ensure();
  }
  ~GilScope() {
    if (held_) python_.gil_release(state_);
  }
  GilScope(const GilScope&) = delete;
  GilScope& operator=(const GilScope&) = delete;
  bool held() const { return held_; }

 private:
  const PythonApi& python_;
  bool held_ = false;
  int state_ = 0;
};

// Runs a program of several lines in globals of its own, which begin with the objects given, and
// reads one number from them [GIL]. False: the program raised (the exception is cleared).
struct NamedObject {
  const char* name;
  PyObject* object;
};
bool RunProgram(const PythonApi& api, const char* code, const NamedObject* objects, size_t count,
                const char* name, uint64_t* number);

// Text of the current exception, which is cleared, into `text` (NUL-terminated).
void TakeError(const PythonApi& api, char* text, size_t size);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_PYTHON_API_H_
