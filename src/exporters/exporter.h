// An exporter: a form of deliverables made of the store of one rank.
//
// An exporter writes the files of one format into the folders of its context, and nothing else. It
// reads the shared tables; it does not print. How to add one: docs/how-to/add-an-exporter.md.
// Threads: an exporter may use context.threads of its own; several ranks are exported at a time.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "exporters/format/left_out.h"
#include "recipes/trace/device_view.h"
#include "store/store.h"

namespace sonde::recipes {
struct ServingSummary;
}

namespace sonde::exporters {

struct ExportContext {
  const recipes::DeviceView& view;  // of the rank; view.data are its tables
  std::string span_folder;          // for files next to ASCEND_PROFILER_OUTPUT
  std::string output_folder;        // becomes ASCEND_PROFILER_OUTPUT; "" where not wanted
  std::string span_name;            // name of the span folder, for file names
  int threads = 1;
  // Of the rank, for imported tables that are kept unchanged; null where its file is made
  // later: a capture holds nothing that `view` lacks.
  const store::Store* store = nullptr;
  LeftOut* left_out = nullptr;  // gets what the form has no place for; may be null
  // Of a session of a server, for the exporters of these; `view` then has nothing but its tables.
  const recipes::ServingSummary* serving = nullptr;

  const recipes::TraceData& data() const { return *view.data; }
};

// Least size of a row in files: of traces without names and arguments. Text and databases
// of real ones took 1.5 to 4.4 times the sum.
struct LeastBytes {
  int64_t slice = 0;
  int64_t framework_op = 0;  // in addition to its slice
  int64_t device_task = 0;   // the same
};

struct Exporter {
  std::string_view name;     // value of --export-type
  std::string_view summary;  // one line for people
  bool in_output_folder;     // its files belong into ASCEND_PROFILER_OUTPUT
  Status (*run)(const ExportContext& context);
  // Rewrites the files that contain DeviceView::waits_ns, where they are in
  // `output_folder`, which is the finished one. May be null: none do.
  Status (*write_waits)(const ExportContext& context) = nullptr;
  bool queries_store = false;   // cannot do without ExportContext::store
  bool is_serial = false;       // uses one thread, however many there are
  bool is_of_server = false;    // made of a session of a server, and of no rank
  std::string_view file = {};   // in ExportContext::span_folder, where it is one of this name
  LeastBytes least_bytes = {};  // a disk is not filled for nothing
};

}  // namespace sonde::exporters
