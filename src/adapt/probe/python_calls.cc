#include "adapt/probe/python_calls.h"

#include <dlfcn.h>

#include "adapt/python/symbol_lookup.h"

namespace sonde::adapt {
namespace {

void FindObjects(SymbolLookup& look, PythonCalls* calls) {
  look("_Py_NoneStruct", &calls->none);
  look("_Py_TrueStruct", &calls->true_object);
  look("_Py_FalseStruct", &calls->false_object);
  look("_Py_NotImplementedStruct", &calls->not_implemented);
  look("PyBool_Type", &calls->bool_type);
  look("PyLong_Type", &calls->int_type);
  look("PyFloat_Type", &calls->float_type);
  look("PyUnicode_Type", &calls->text_type);
  look("PyTuple_Type", &calls->tuple_type);
  look("PyList_Type", &calls->list_type);
  look("PyDict_Type", &calls->dict_type);
  PyObject** runtime_error = nullptr;
  look("PyExc_RuntimeError", &runtime_error);
  if (runtime_error != nullptr) calls->runtime_error = *runtime_error;
  PyObject** exception = nullptr;
  look("PyExc_Exception", &exception);
  if (exception != nullptr) calls->exception = *exception;
}

}  // namespace

const char* FindPythonCalls(PythonCalls* calls) {
  const char* missing = FindPython(calls);
  if (missing != nullptr) return missing;
  SymbolLookup look;
  FindObjects(look, calls);
  look("PyTuple_Size", &calls->tuple_size);
  look("PyLong_AsLongLong", &calls->long_as_i64);
  look("PyFloat_AsDouble", &calls->float_as_double);
  look("PyDict_Items", &calls->dict_items);
  look("PySequence_List", &calls->sequence_list);
  look("PyUnicode_InternFromString", &calls->intern);
  look("PyObject_CallMethodObjArgs", &calls->call_method);
  look("PyUnicode_FromStringAndSize", &calls->text_from);
  look("PyErr_SetString", &calls->raise);
  look("PyCapsule_New", &calls->capsule_new);
  look("PyCapsule_GetPointer", &calls->capsule_get);
  look("PyDict_SetItem", &calls->dict_set_item);
  look("PyTuple_New", &calls->tuple_new);
  look("PyTuple_SetItem", &calls->tuple_set);
  look("PyObject_Call", &calls->call_with);
  look("PyType_GetFlags", &calls->type_flags);
  look("PyObject_IsInstance", &calls->is_instance);
  look("PyObject_Hash", &calls->hash);
  look("PyErr_ExceptionMatches", &calls->error_matches);
  look("PyErr_NormalizeException", &calls->error_normalize);
  look("PyException_SetTraceback", &calls->set_traceback);
  return look.missing;
}

bool TextOf(const PythonCalls& calls, PyObject* object, std::string_view* text) {
  intptr_t size = 0;
  const char* chars = calls.utf8(object, &size);
  if (chars == nullptr) {
    calls.error_clear();
    return false;
  }
  *text = {chars, static_cast<size_t>(size)};
  return true;
}

}  // namespace sonde::adapt
