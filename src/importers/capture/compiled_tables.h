// The tables of compiled graphs in a capture's metadata (capture/compiled_code.h), and the calls of
// their kernels by the call stacks that the recorder kept. Plain data, constant once it is read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/capture/dictionary.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

struct CompiledModule {
  std::string path;  // in the module that was compiled; "" is that one
  std::string class_name;
  int32_t around = -1;  // smaller than its own number
};

struct CompiledFrame {
  std::string file;
  uint32_t line = 0;
  std::string function;
};

// A line that calls a kernel. Numbers are those of the graph's modules and frames.
struct CompiledSite {
  int32_t module = -1;          // of the value that it stores last; -1 unknown
  std::vector<int32_t> also;    // others that it computes something for
  std::vector<int32_t> frames;  // of the program, innermost first
  std::vector<int32_t> lines;   // of its other operators
  std::string operators;        // ", " between
  std::string known_by;         // how its module was found, where not by its own nodes
  std::string output;           // type and sizes
  std::string bytes;            // that it reads and writes, a number; "" unknown
  std::string flops;            // its floating-point operations; "" unknown
};

struct CompiledGraph {
  std::string file;
  std::string prefix;    // path of the module that was compiled; "" unknown, or it is the model
  std::string known_by;  // how its modules were found, where not by the compiler's own notes
  bool is_backward = false;
  std::vector<CompiledModule> modules;
  std::vector<CompiledFrame> frames;
  std::map<uint32_t, CompiledSite> sites;  // by line

  // The class of the module that was compiled; "" where it was a function.
  std::string_view RootClass() const;
};

struct CompiledCall {
  const CompiledGraph* graph = nullptr;
  const CompiledSite* site = nullptr;
  uint32_t line = 0;
};

class CompiledTables {
 public:
  // Bad tables are counted and left out.
  void Read(const Dictionary& dictionary, store::ImportIssues& issues);

  bool empty() const { return graphs_.empty(); }
  // The call that a stack was taken in; null: none.
  const CompiledCall* CallOf(uint32_t stack) const;

 private:
  void FindCalls(const Dictionary& dictionary);

  std::map<std::string, CompiledGraph, std::less<>> graphs_;  // by file
  std::unordered_map<uint32_t, CompiledCall> calls_;          // by stack
};

}  // namespace sonde::importers::capture_import
