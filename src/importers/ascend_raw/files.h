// The files in a folder of raw records, found by names. Pure; opens folders only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "importers/ascend/span.h"

namespace sonde::importers::raw {

// A part of a stream of records: <name>.slice_<number>.
struct Slice {
  SpanFile file;
  int64_t number = 0;
  bool is_closed = false;  // its writer has finished it: <file>.done is there
};

struct Stream {
  std::string name;           // "unaging.compact.task_track", "stars_soc.data"
  std::vector<Slice> slices;  // by number
};

// host or device_<N> of a PROF_*.
struct ProfPart {
  std::string folder;
  std::string relative;  // below the folder that was named
  int32_t device = -1;   // -1: the host
  std::vector<Stream> streams;
  std::vector<std::string> others;  // names of files of data/ that are no slices
};

struct Prof {
  std::string folder;
  std::string relative;  // "" where it was named itself
  std::vector<ProfPart> parts;
  bool HasData() const;
  // Whether host and device exist, and each part has data.
  bool IsWhole() const;
};

struct Files {
  std::string folder;  // the span folder, or the PROF_* that was named
  std::vector<Prof> profs;
  std::vector<SpanFile> framework;       // FRAMEWORK/torch.*
  std::vector<SpanFile> settings;        // info.json and the like of PROF_*/{host,device_*}
  std::vector<SpanFile> metadata;        // profiler_info*.json, profiler_metadata.json
  std::vector<std::string> all() const;  // paths
};

Files FindFiles(const std::string& path);

// Whether raw records are to be read although the folder has finished results (SONDE_ASCEND_RAW=1).
bool PrefersRaw();

}  // namespace sonde::importers::raw
