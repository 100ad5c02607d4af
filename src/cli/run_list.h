// The run list: the file to which every process below `sonde run` appends what became of it
// (docs/reference/environment.md). Lines are "kind TAB process id TAB text"; a line that is cut
// off, because its process was killed, or of an unknown kind is passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::cli {

// A child that was forked: it leaves a span folder in `folder` if it records anything.
struct ForkedProcess {
  std::string pid;
  std::string folder;
  bool is_helper = true;  // until it has taken steps of its own
};

struct RunList {
  std::vector<std::string>
      captures;  // span folders in order of their start, without discarded ones
  std::vector<std::string> sessions;  // folders of sessions of a server
  std::vector<std::string> workers;   // span folders that helper processes reported
  std::vector<ForkedProcess> forked;
  std::vector<std::string> skipped;            // reasons, each once
  std::vector<std::string> failed;             // reasons, each once
  std::vector<std::string> changed;            // changes of hosts that were made, by title
  std::vector<std::string> wanted;             // those that some process has to have
  std::vector<std::string> lost;               // "title: why", each once
  std::vector<std::string> dumps;              // folders of values, each once
  std::vector<std::string> bad_configs;        // why a configuration of a dump cannot work
  std::vector<std::string> without_framework;  // command lines of Python processes
  bool attached = false;                       // a process with a framework was to be dumped
  bool listened = false;                       // a process waited for requests on a control address
  bool served = false;                         // a process of a server waited for its sessions
  bool answers = false;                        // a server was ready to answer requests

  bool Empty() const {
    return captures.empty() && skipped.empty() && failed.empty() && without_framework.empty() &&
           !listened && !served;
  }
};

RunList ParseRunList(std::string_view text);

// Missing parts of a run that recorded something, one line each: changes of a host that failed,
// and those that were wanted and made in no process.
std::vector<std::string> MissingLines(const RunList& list);

// Why nothing was recorded, with the remedy, as one line; empty where captures exist. `has_failed`:
// the command ended with an error.
std::string NothingRecordedReason(const RunList& list, bool has_failed = false);

// The same of a run that was to dump values; empty where some process had a framework.
std::string NothingDumpedReason(const RunList& list);

// Folders for one line: a few by their paths, many by their number and where they lie.
std::string FoldersInWords(const std::vector<std::string>& paths);

}  // namespace sonde::cli
