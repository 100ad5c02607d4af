// Dumps of a MindSpore graph, kernel by kernel: folders .../rank_<N>/<net>/<graph>/<step> (or
// .../<N>/...) with tensors as .npy files or with a statistic.csv.
//
// Tensor files are named {type}.{name}.{task}.{stream}.{time}.{input|output}.{slot}.{format}.npy;
// names that are too long stand in mapping.csv. Errors: Status that names folder or file.
// Threads: pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct KernelRecord {
  std::string path;  // the tensor file, or statistic.csv
  std::string name;  // "{name}.{task}.{input|output}.{slot}"
  int64_t time = 0;  // orders the records of one name
  // Of statistic.csv:
  std::string dtype;
  std::string shape;
  std::array<double, 4> statistics = {};  // max, min, mean, norm; NaN: not there
};

struct KernelFolder {
  bool tensors = false;
  std::vector<KernelRecord> records;
};

// Folders by rank and step.
using KernelTree = std::map<std::pair<int64_t, int64_t>, std::vector<std::string>>;

// Only ranks and steps of the lists; an empty list takes all.
Result<KernelTree> FindKernelDumps(const std::string& path, const std::vector<int64_t>& ranks,
                                   const std::vector<int64_t>& steps);

// All folders of one rank and step together. Fails where they hold neither kind of data.
Result<KernelFolder> ReadKernelDump(const std::vector<std::string>& folders);

// The parts of a record's name.
struct KernelPlace {
  std::string name;       // of the kernel, '_' for the '/' of its scope
  std::string direction;  // "input", "output"; empty: the record's name has another form
  std::string slot;       // "0"
};
KernelPlace PlaceOfRecord(std::string_view record_name);

// Whether the path is a dump of MindSpore's graphs, or one rank of it (msProbe's are rank<N>),
// and nothing else: where cells or calls were dumped next to it, those are the dump.
bool HoldsKernelsOnly(const std::string& path);

// False for names of another form.
bool ParseKernelFileName(std::string_view name, KernelRecord* out);

}  // namespace sonde::precision
