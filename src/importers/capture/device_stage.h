// The work of a device between records and rows: sorted, numbered, joined with its launches.
//
// Plain data; name ids are those of the capture's dictionary, times nanoseconds of the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/device_format.h"
#include "capture/track_kinds.h"
#include "store/name_pool.h"

namespace sonde::importers::capture_import {

struct DeviceTrack {
  int32_t track_id = -1;
  capture::TrackKind kind = capture::TrackKind::kStream;
  std::string label;
  int32_t thread_id = -1;
  int32_t device_id = -1;
  int32_t stream_id = -1;
};

// A host call of the vendor's interface.
struct DeviceCall {
  int64_t ts = 0;
  int64_t end = 0;
  uint64_t correlation = 0;
  uint32_t name = 0;
  uint32_t tid = 0;         // the system's number of the thread
  int32_t thread_id = -1;   // -1: a thread that recorded nothing
  int32_t op_slice = -1;    // innermost operator open there when it began
  uint32_t op_name = 0;     // of that, where it is an operator and no range around some
  int32_t collective = -1;  // of the framework, the same
  int32_t track_id = -1;
  int32_t slice_id = -1;
  int32_t parent = -1;  // slice
  int32_t depth = 0;
};

struct DeviceTask {
  int64_t ts = 0;
  int64_t end = 0;
  uint64_t correlation = 0;
  uint64_t size = 0;
  capture::DeviceRecordKind kind = capture::DeviceRecordKind::kKernel;
  uint16_t code = 0;
  int32_t device = 0;
  int32_t stream = 0;
  uint32_t name = 0;
  uint32_t type = 0;
  uint32_t group = 0;
  int32_t call = -1;  // index of the host call that launched it
  int32_t track_id = -1;
  int32_t slice_id = -1;
  int32_t depth = 0;
};

struct DeviceStage {
  capture::DeviceVendor vendor = capture::DeviceVendor::kAscend;
  std::vector<DeviceTrack> tracks;  // by number, ascending
  std::vector<DeviceCall> calls;    // by (track, depth, ts)
  std::vector<DeviceTask> tasks;    // the same; communications on tracks of their groups
  bool empty() const { return tasks.empty() && calls.empty(); }
};

// Texts that the slices of a device need; interned before they are written.
struct DeviceCategories {
  DeviceCategories(store::NamePool& names, capture::DeviceVendor vendor);
  int32_t kernel;
  int32_t copy;
  int32_t set;
  int32_t communication;
  int32_t call;
  int32_t driver_call;
  int32_t copy_name;  // of vendors without names for kinds of copies
  int32_t set_name;
};

}  // namespace sonde::importers::capture_import
