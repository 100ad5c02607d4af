// Messages between processes of a run: process 0 asks all, each answers. Numbered from 0 on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/frame/mode.h"

namespace sonde::cluster::messages {

// "hello.<process>", once: who it is.
struct Hello {
  std::string program;  // version and size: all have to be the same
  std::string host;
};

enum class Wish : uint8_t { kSee, kMap, kEnd };

struct WantedRank {
  int32_t number = 0;  // of the rank
  int32_t trace = 0;   // of the trace
  int32_t run = 0;     // ranks of different runs do not meet
  std::string importer;
  std::string path;
};

// "ask.<number>".
struct Ask {
  Wish wish = Wish::kEnd;
  std::string folder;  // kSee
  std::string mode;    // kMap
  ModeOptions options;
  std::vector<std::vector<WantedRank>> shares;  // by process
};

struct SeenTrace {
  std::string path;
  std::string importer;
  int32_t rank = -1;    // from its importer
  int32_t number = -1;  // from the names of its files (RankOf)
  uint64_t bytes = 0;
};
struct SentPart {
  int32_t number = 0;
  std::string bytes;
};
struct SentFailure {
  std::string path;
  int32_t code = 0;
  std::string message;
};

// "answer.<number>.<process>".
struct Answer {
  std::vector<SeenTrace> seen;
  int32_t world = 0;  // ranks that the job had, from its files
  std::vector<SentPart> parts;
  std::vector<SentFailure> failures;
};

}  // namespace sonde::cluster::messages
