// Kernels of compiled code as kernels of an eager run: in their modules, with the program's lines.
//
//   module ranges   neighbouring kernels of a module are a call of it (module_runs.h), with the
//                   argument "compiled". A kernel that several modules share belongs to that of the
//                   value which it stores last. Backward: ranges of their own, "mlp (backward)"
//   paths           in the model: behind the path of the module that was called, where its calls
//                   were recorded; of backward behind that of its forward call
//   stack           the lines of the program, innermost first, then that of the generated module
//   arguments       of the kernel: "module", "fused with", "operators", "lines", "output", "call"
// Apply() once, when threads are decoded, before names and argument sets are taken. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "importers/capture/compiled_tables.h"
#include "importers/capture/dictionary.h"
#include "importers/capture/dictionary_additions.h"
#include "importers/capture/module_runs.h"
#include "importers/capture/stage.h"

namespace sonde::importers::capture_import {

class CompiledGraphs {
 public:
  // New names, argument sets and stacks go into the dictionary, whose views point into this object
  // from then on.
  void Apply(Dictionary& dictionary, std::vector<ThreadStage>& stages, store::ImportIssues& issues);

 private:
  // Where a graph was called: what the paths of its modules begin with, and whether the call of its
  // root was recorded.
  struct Place {
    std::string path;
    bool has_root = false;
    bool operator<(const Place& other) const {
      return std::tie(path, has_root) < std::tie(other.path, other.has_root);
    }
  };
  // A kernel with what was open around it.
  struct Kernel {
    size_t node = 0;
    const CompiledCall* call = nullptr;
    const Node* module = nullptr;
    int32_t sequence = -1;  // of the function, or of its backward
  };

  std::vector<Kernel> KernelsOf(const Dictionary& dictionary, const ThreadStage& stage) const;
  void KeepPlaces(const Dictionary& dictionary, const std::vector<Kernel>& kernels);
  Place PlaceOf(const Dictionary& dictionary, const Kernel& kernel) const;
  void ApplyTo(Dictionary& dictionary, ThreadStage& stage, const std::vector<Kernel>& kernels);

  ModulePath PathOf(Dictionary& dictionary, const CompiledCall& call, const Place& place);
  uint32_t KernelArgs(Dictionary& dictionary, const CompiledCall& call, const Place& place,
                      uint32_t args);
  uint32_t StackOf(Dictionary& dictionary, const CompiledCall& call, uint32_t stack);
  uint32_t FrameId(Dictionary& dictionary, const CompiledCall& call, int32_t frame);

  CompiledTables tables_;
  DictionaryAdditions added_;
  std::map<std::tuple<int32_t, std::string>, Place> forward_;  // by sequence and class of the root
  std::map<std::tuple<const CompiledSite*, Place>, ModulePath> paths_;
  std::map<std::tuple<const CompiledSite*, Place, uint32_t>, uint32_t> kernel_args_;
  std::map<std::tuple<const CompiledSite*, uint32_t>, uint32_t> stacks_;
  std::map<std::tuple<const CompiledGraph*, int32_t>, uint32_t> frames_;
  std::map<std::tuple<std::string, std::string>, uint32_t> module_args_;  // by class and file
};

}  // namespace sonde::importers::capture_import
