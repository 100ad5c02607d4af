#include "adapt/python/python_api.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "adapt/python/read_at.h"
#include "adapt/python/symbol_lookup.h"

namespace sonde::adapt {
namespace {

constexpr size_t kTypeNameOffset = 24;
constexpr size_t kTypeVectorcallOffset = 56;

void FindObjects(SymbolLookup& look, PythonApi* api) {
  look("PyDict_New", &api->dict_new);
  look("PyDict_GetItemString", &api->dict_get);
  look("PyDict_SetItemString", &api->dict_set);
  look("PyList_Size", &api->list_size);
  look("PyList_GetItem", &api->list_get);
  look("PyList_Append", &api->list_append);
  look("PyTuple_GetItem", &api->tuple_get);
  look("PyLong_AsUnsignedLongLongMask", &api->long_as_u64);
  look("PyLong_FromUnsignedLongLong", &api->long_from_u64);
  look("PyUnicode_AsUTF8AndSize", &api->utf8);
  look("PyUnicode_FromString", &api->unicode);
  look("PyObject_GetAttrString", &api->get_attribute);
  look("PyObject_GetAttr", &api->get_attribute_object);
  look("PyObject_GenericGetAttr", &api->generic_get_attribute);
  look("PyObject_SetAttrString", &api->set_attribute);
  look("PyObject_CallFunctionObjArgs", &api->call);
  look("PyObject_Str", &api->str);
  look("PyObject_GetIter", &api->iterator);
  look("PyIter_Next", &api->next);
  look("PyVectorcall_Call", &api->vectorcall_call);
  look("PyType_FromSpec", &api->type_from_spec);
  look("PyType_GenericAlloc", &api->generic_alloc);
  look("PyCFunction_NewEx", &api->function_new);
  look("PyMethod_New", &api->method_new);
  look("PyWeakref_NewRef", &api->weak_reference);
  look("Py_IncRef", &api->retain);
  look("Py_DecRef", &api->release);
}

}  // namespace

const char* FindPython(PythonApi* api) {
  SymbolLookup look;
  const char* (*version)() = nullptr;
  look("Py_GetVersion", &version);
  look("Py_IsInitialized", &api->is_initialized);
  // Public since 3.13, before that with an underscore.
  api->is_finalizing = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsFinalizing"));
  if (api->is_finalizing == nullptr) look("_Py_IsFinalizing", &api->is_finalizing);
  look("PyGILState_Ensure", &api->gil_ensure);
  look("PyGILState_Release", &api->gil_release);
  look("PyGILState_Check", &api->gil_check);
  look("PyEval_SaveThread", &api->save_thread);
  look("PyEval_RestoreThread", &api->restore_thread);
  look("PyGILState_GetThisThreadState", &api->gil_this_thread_state);
  look("PyRun_StringFlags", &api->run_string);
  look("PyImport_ImportModule", &api->import_module);
  look("PyErr_Occurred", &api->error_occurred);
  look("PyErr_Clear", &api->error_clear);
  look("PyErr_Fetch", &api->error_fetch);
  look("PyErr_Restore", &api->error_restore);
  FindObjects(look, api);
  if (look.missing != nullptr) return look.missing;
  if (api->is_initialized() == 0) return "an initialized Python interpreter";
  api->version = version();
  api->minor = std::strncmp(api->version, "3.", 2) == 0
                   ? static_cast<int>(std::strtol(api->version + 2, nullptr, 10))
                   : 0;
  api->free_threaded = std::strstr(api->version, "free-threading") != nullptr;
  return nullptr;
}

const char* TypeName(const PyObject* type) { return ReadAt<const char*>(type, kTypeNameOffset); }

PyVectorcall VectorcallOf(const PyObject* callable) {
  const auto offset = ReadAt<intptr_t>(callable->type, kTypeVectorcallOffset);
  if (offset <= 0) return nullptr;
  return ReadAt<PyVectorcall>(callable, static_cast<size_t>(offset));
}

bool RunProgram(const PythonApi& api, const char* code, const NamedObject* objects, size_t count,
                const char* name, uint64_t* number) {
  constexpr int kFileInput = 257;
  PyObject* globals = api.dict_new();
  PyObject* builtins = api.import_module("builtins");
  api.dict_set(globals, "__builtins__", builtins);
  for (size_t i = 0; i < count; i++) api.dict_set(globals, objects[i].name, objects[i].object);
  PyObject* result = api.run_string(code, kFileInput, globals, globals, nullptr);
  PyObject* value = result != nullptr ? api.dict_get(globals, name) : nullptr;
  if (value != nullptr) *number = api.long_as_u64(value);
  if (api.error_occurred() != nullptr) api.error_clear();
  for (PyObject* object : {result, builtins, globals}) api.release(object);
  return value != nullptr;
}

void TakeError(const PythonApi& api, char* text, size_t size) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  api.error_fetch(&type, &value, &trace);
  PyObject* line = value != nullptr ? api.str(value) : nullptr;
  const char* chars = line != nullptr ? api.utf8(line, nullptr) : nullptr;
  const char* kind = type != nullptr ? TypeName(type) : "no exception";
  std::snprintf(text, size, "%s: %s", kind, chars != nullptr ? chars : "");
  api.error_clear();
  api.release(line);
  api.release(type);
  api.release(value);
  api.release(trace);
}

}  // namespace sonde::adapt
