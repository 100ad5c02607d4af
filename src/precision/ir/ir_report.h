// Tables of MindSpore's IR: summaries, results of a search, differences of two files, and
// nodes joined with dumped values and times by their scope.
//
// Values as texts, for report::WriteTextTable and for the terminal. Threads: pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "precision/ir/ir_file.h"
#include "report/text_table.h"

namespace sonde::precision {

// One line a file: pass, graphs, nodes as MindSpore counted and as read, parameters.
report::TextTable SummarizeFiles(const std::vector<IrFile>& files);
// Nodes by type, most first.
report::TextTable CountTypes(const IrFile& file);
report::TextTable ListParameters(const IrFile& file);

// Nodes of which name, type, scope or a source line contains the text.
report::TextTable FindNodes(const std::vector<IrFile>& files, std::string_view text);

// Two passes or releases: nodes by scope and type (without a scope: by type), how many either file
// has; only those that differ.
report::TextTable CompareFiles(const IrFile& target, const IrFile& golden);

// What else is known of a scope.
struct ScopeTime {
  int64_t launches = 0;
  int64_t total_ns = 0;
};
struct ScopeValue {
  std::string which = {};  // "output 0"
  std::string dtype = {};
  std::string shape = {};
  std::string max = {};
  std::string min = {};
  std::string mean = {};
  std::string norm = {};
};
using ScopeTimes = std::map<std::string, ScopeTime, std::less<>>;
// By the scope with '_' for '/', as names of dump files have it.
using ScopeValues = std::map<std::string, std::vector<ScopeValue>, std::less<>>;

// A row for each node with a scope, and for each of its values; cells of unknown values are
// empty.
report::TextTable JoinNodes(const IrFile& file, const ScopeTimes& times, const ScopeValues& values);

// The scope as names of dump files have it.
std::string DumpName(std::string_view scope);

}  // namespace sonde::precision
