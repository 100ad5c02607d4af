// A dump with the files next to it: stack.json and construct.json.
//
// Threads: LoadDumpPair() reads both sides at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"
#include "precision/dump/stack_file.h"

namespace sonde::precision {

struct DumpFolder {
  std::unique_ptr<DumpFile> dump;
  std::unique_ptr<StackFile> stack;          // empty when the file is absent
  std::unique_ptr<ConstructFile> construct;  // the same
};

// `dump_path`: a dump.json or debug.json. `stack_path` may be empty: stack.json next to it, where
// there is one; a file that is named must be there. For
// a file that ends in the middle of an entry a line for the user is appended to `notes`.
Result<DumpFolder> LoadDumpFolder(const std::string& dump_path, const std::string& stack_path,
                                  std::vector<std::string>* notes);

struct DumpPair {
  DumpFolder target;
  DumpFolder golden;
};

Result<DumpPair> LoadDumpPair(const std::string& target_path, const std::string& target_stack_path,
                              const std::string& golden_path, std::vector<std::string>* notes);

}  // namespace sonde::precision
