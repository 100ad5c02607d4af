// Shapes, types and formats of the kernels of MindSpore's compiled graphs, from a capture's
// metadata (capture/mindspore_types.h), by the scope that is the kernel's name.
//
// A scope of which two graphs differ has none: the launch does not name its graph.
// Errors: a table that is garbled is one issue. Threads: read-only after Read().
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "importers/capture/dictionary.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

// As the columns of task_kind have them.
struct KernelSide {
  std::string shapes;
  std::string types;
  std::string formats;
};

struct KernelShape {
  KernelSide inputs;
  KernelSide outputs;
};

class KernelShapes {
 public:
  void Read(const Dictionary& dictionary, store::ImportIssues& issues);
  // Null: none is known.
  const KernelShape* Of(std::string_view scope) const;

 private:
  std::unordered_map<std::string, std::optional<KernelShape>, base::StringHash, std::equal_to<>>
      shapes_;
};

}  // namespace sonde::importers::capture_import
