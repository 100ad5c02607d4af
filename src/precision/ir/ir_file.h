// The text of MindSpore's intermediate representation (.ir files, trace_code_graph_<n>), of the
// releases 1.7 to 2.10: parameters, graphs, nodes with scope and source line.
//
// A line that is none of the known kinds is passed over; a file without an entry line is none.
// Errors: Status that names the file. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct IrNode {
  std::string graph;        // of @graph
  std::string id;           // "%5" of the file; "" of a Return
  std::string name;         // "CNode_69$a"
  std::string op;           // "MatMul", "Load", "Return"; calls of graphs are "call"
  std::string inputs;       // as they stand
  std::string types;        // "(...) -> (...)" of the host
  std::string scope;        // "Default/attn-Attention/MatMul-op0"
  std::string unique_id;    // of a call of the program; empty: not given
  std::string forward_id;   // of a gradient: the unique_id of the call that it is of
  std::string forward_op;   // of that call: "MatMul"
  std::string file;         // of its source: the innermost line that is known
  int32_t line = 0;         // 0: unknown
  std::string source;       // its text
  std::string user_source;  // "file:line  text" of the innermost line that is not MindSpore's own
};

struct IrParameter {
  std::string name;
  std::string type;
};

struct IrFile {
  std::string path;
  std::string pass;  // "validate" of "21_validate_0076.ir"
  std::string entry;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<IrParameter> parameters;
  std::vector<std::string> graphs;
  std::vector<IrNode> nodes;
  // As MindSpore counted; -1 where the file does not give it.
  int64_t subgraphs = -1;
  int64_t total_nodes = -1;
  int64_t total_cnodes = -1;

  // Whether as many nodes were read as MindSpore counted, where the count is given.
  bool IsWhole() const {
    return total_cnodes < 0 || total_cnodes == static_cast<int64_t>(nodes.size());
  }
};

Result<IrFile> ReadIrFile(const std::string& path);
Result<IrFile> ParseIr(std::string_view text, const std::string& path);

// IR files of a folder, two levels deep, in the order of their names; a file is itself.
Result<std::vector<std::string>> FindIrFiles(const std::string& path);

// "21_validate_0076.ir" -> "validate", "trace_code_graph_0095" -> "trace_code_graph".
std::string IrPassName(std::string_view file_name);

}  // namespace sonde::precision
