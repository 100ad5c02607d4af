// The work of a device that its vendor's library reported (capture/device_format.h), as records.
//
// Garbled and cut chunks are left out and counted. Names are appended to the dictionary of the
// capture, and records refer to them by its ids. One thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/status.h"
#include "capture/device_format.h"
#include "importers/capture/dictionary.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

struct DeviceRecords {
  std::deque<base::MappedFile> files;  // the names point into these
  std::vector<capture::DeviceRecord> records;
  capture::DeviceVendor vendor = capture::DeviceVendor::kAscend;  // of the last chunk
};

// Errors: a file that is gone. Bad content is no error.
Result<DeviceRecords> ReadDeviceFiles(const std::vector<std::string>& files, Dictionary& dictionary,
                                      store::ImportIssues& issues);

}  // namespace sonde::importers::capture_import
