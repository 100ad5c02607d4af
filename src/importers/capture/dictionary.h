// The dictionary of a capture: texts, argument sets, stacks, threads, facts, clock samples.
//
// Garbled entries are skipped and counted, the rest is used; a cut-off end is counted. Views point
// into the mapped files, which the dictionary owns. One thread builds it, any may read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "capture/format.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

struct ThreadEntry {
  uint32_t index = 0;  // as in chunks
  uint32_t tid = 0;
  uint32_t framework_number = 0;
  std::string_view name;
};

struct FrameEntry {
  uint32_t function = 0;  // name ids
  uint32_t file = 0;
  uint32_t line = 0;
};

struct SessionEnd {
  capture::StopReason reason = capture::StopReason::kStopped;
  uint64_t dropped = 0;
  std::string_view message;
};

struct MetadataEntry {
  uint32_t key = 0;  // name id
  std::string_view json;
};

struct Dictionary {
  std::vector<base::MappedFile> files;
  uint64_t session_id = 0;
  uint32_t pid = 0;
  capture::ClockKind clock_kind = capture::ClockKind::kTsc;
  int64_t created_realtime_ns = 0;

  // Indexed by id; an id without an entry holds an empty view (frames: zeros).
  std::vector<std::string_view> names;
  std::vector<std::span<const std::byte>> args;
  std::vector<FrameEntry> frames;
  std::vector<std::span<const std::byte>> stacks;
  std::array<std::string_view, 256> domains;

  std::vector<ThreadEntry> threads;  // by index, ascending
  std::vector<MetadataEntry> metadata;
  std::vector<capture::ClockSampleEntry> clocks;
  std::vector<std::string_view> issues;
  std::optional<SessionEnd> end;
  std::optional<uint32_t> parent_pid;
  std::string_view command_line;

  std::string_view Name(uint32_t id) const {
    return id < names.size() ? names[id] : std::string_view();
  }
  const ThreadEntry* FindThread(uint32_t index) const;
};

// `files` in order of their numbers. Fails only where no file has a usable header, or one is gone.
Result<Dictionary> ReadDictionary(const std::vector<std::string>& files,
                                  store::ImportIssues& issues);

}  // namespace sonde::importers::capture_import
