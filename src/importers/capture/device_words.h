// Names for the work of a vendor's device: types, cores and kinds of tasks, levels of calls.
//
// Ascend's are those of its deliverables. NVIDIA's are those of torch's profiler and of the reader
// of its traces (importers/kineto), so that both ways of recording a GPU can be compared. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "capture/device_format.h"

namespace sonde::importers::capture_import {

// Of a task kind; empty where there is none. Copies and fills have no core.
struct TaskWords {
  std::string op_type;
  std::string task_type;
  std::string core;
};

// `name` and `type`: of the record; `op`: the operator that launched it, "" where none is known.
TaskWords WordsOf(capture::DeviceVendor vendor, capture::DeviceRecordKind kind,
                  std::string_view name, std::string_view type, std::string_view op);

// The layer of a host call: "node", "acl", "runtime", "communication".
std::string_view CallLevel(capture::DeviceVendor vendor, std::string_view name);

// The category of a host call's slice.
std::string_view CallCategory(capture::DeviceVendor vendor, std::string_view name);

// The interface of the calls of a thread: "CANN", "CUDA".
std::string_view InterfaceOf(capture::DeviceVendor vendor);

// The collective that a kernel carries out; "" for others, and where collectives have records of
// their own.
std::string CollectiveOf(capture::DeviceVendor vendor, capture::DeviceRecordKind kind,
                         std::string_view name);

}  // namespace sonde::importers::capture_import
