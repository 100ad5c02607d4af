// Calls of MindSpore's cells inside of compiled graphs, where no cell is called: the name of each
// kernel has the cells around it ("Default/layers-CellList/0-Block/qkv-Dense/MatMul-op0"). A cell's
// range reaches from its first kernel to the last one before a kernel of another cell; kernels
// without a scope interrupt nothing. Lists of cells have no range, as they are not called outside
// of graphs either. Gradients ("Gradients/Default/...") are ranges of their own, "qkv (backward)".
// Find() once, before names and argument sets are taken; AddRanges() for each thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/capture/dictionary.h"
#include "importers/capture/dictionary_additions.h"
#include "importers/capture/module_runs.h"
#include "importers/capture/stage.h"

namespace sonde::importers::capture_import {

class ScopeCells {
 public:
  // Names of cells and argument sets with their classes go into the dictionary, whose views point
  // into this object from then on.
  void Find(Dictionary& dictionary);

  // Puts the ranges behind their last kernel, inner before outer, as if they had been recorded.
  void AddRanges(ThreadStage& stage) const;

 private:
  uint32_t ClassArgs(Dictionary& dictionary, std::string_view cell_class);
  ModulePath PathOf(Dictionary& dictionary, std::string_view kernel);

  std::unordered_map<uint32_t, ModulePath> paths_;  // by the name of the kernel
  std::unordered_map<std::string, uint32_t> classes_;
  DictionaryAdditions added_;
};

}  // namespace sonde::importers::capture_import
