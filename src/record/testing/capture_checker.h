// Reads a capture folder for the recorder's tests: verifies every checksum and reference.
//
// Written from docs/capture-format.md alone and sharing no code with the importer, so that the two
// check each other. Slow and strict; for tests only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/format.h"

namespace sonde::record {

struct CheckedRecord {
  capture::Record record;
  capture::MemoryTail memory;  // of kMemory
  uint32_t thread_index = 0;
  uint64_t slot = 0;  // ring position
  bool open = false;  // had not ended when recording ended
  std::string name;   // resolved
};

struct CheckedEnd {
  capture::StopReason reason;
  uint64_t dropped;
  std::string message;
};

struct CheckedThread {
  uint32_t tid = 0;
  uint32_t framework_number = 0;
  std::string name;
};

struct CheckedCapture {
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, std::string> domains;
  std::map<uint32_t, std::string> args;
  std::map<uint32_t, std::vector<uint32_t>> frames;  // function, file, line
  std::map<uint32_t, std::vector<uint32_t>> stacks;
  std::map<uint32_t, CheckedThread> threads;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> issues;
  std::vector<capture::ClockSampleEntry> clock_samples;
  std::optional<CheckedEnd> end;

  std::vector<CheckedRecord> records;    // finished ones in ring order per thread, then open ones
  std::map<uint32_t, uint64_t> dropped;  // by thread
  uint64_t ring_files = 0;
  uint64_t truncated_bytes = 0;       // behind the last whole piece of a file: normal after a crash
  std::vector<std::string> problems;  // anything that must never be, even after a crash

  uint64_t TotalDropped() const;
  size_t Count(capture::RecordKind kind, const std::string& name = "", bool open = false) const;
  std::string ProblemText() const;  // for test messages
};

// `span`: the folder that holds SONDE.
CheckedCapture CheckCapture(const std::string& span);

// Span folders in `directory`, sorted by name.
std::vector<std::string> FindSpans(const std::string& directory);

}  // namespace sonde::record
