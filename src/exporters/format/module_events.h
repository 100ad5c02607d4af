// Module calls and Python functions as the ecosystem shows them: events of category
// python_function, numbered, each with the number of the event around it.
//
// A module call is named "nn.Module: <class>_<k>", k counting the instances of the class in the
// order of their first call; the store has the path of the instance in the model and its class.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

struct PythonEvent {
  int32_t slice_id = store::kNone;
  uint32_t name = 0;  // index in PythonEventList::names
  int64_t python_id = 0;
  int64_t parent_id = 0;   // of the enclosing event on the same thread; 0 where there is none
  int64_t module_id = -1;  // number of the instance; -1 for functions
};

struct PythonEventList {
  std::vector<PythonEvent> events;  // in the order of thread and start
  std::vector<std::string> names;
};

PythonEventList PythonEvents(const recipes::TraceData& data);

}  // namespace sonde::exporters
