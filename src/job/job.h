// The traces of a job: what the user named on the command line, found, numbered and grouped. One
// way for all commands.
//
// A trace is what a store holds of one capture, or of one file. Its number is its key in tables,
// statements, messages and addresses of the page; run and rank are attributes: a rank may be
// missing, or be there more than once. A server session is one trace; the captures that it holds
// are its parts, and count by themselves only for who wants their deliverables.
//
// Nothing is imported here: names, folders and heads of files are looked at. Threads: pure
// functions. Errors: a path that cannot be read is in Job::failures, and the others are found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/registry.h"

namespace sonde::job {

struct Trace {
  int32_t number = 0;
  int32_t run = 0;    // traces of one launch have one, from 0 on
  int32_t rank = -1;  // global rank in its run, -1 unknown
  importers::TraceSource source;
};

struct Job {
  std::vector<Trace> traces;          // traces[i].number == i
  std::vector<Trace> parts;           // of server sessions in `traces`; their numbers come behind
  std::vector<std::string> notices;   // a line each: found deeper than was named
  std::vector<std::string> repeated;  // named more than once, counted once
  std::string folder;                 // that was named, where it is one
  std::vector<std::string> unread;    // files that no importer reads, folders that lie too deep
  std::vector<Status> failures;       // paths in which nothing was found, and why
};

struct FindOptions {
  int max_depth = 3;  // folders below what was named
  // Where not null: whether a trace may be read; why not becomes a failure.
  std::function<Status(const std::string& path)> allow = {};
  // Also stores without a trace (importers::Importer::holds_trace): for who shows and queries.
  bool takes_all = false;
};

// In the order of runs and ranks, those without a rank last, else of paths and names.
Job FindJob(const std::vector<std::string>& paths, const FindOptions& options = {});

// The same, and an error where a path was named in which nothing is found.
Result<Job> FindWholeJob(const std::vector<std::string>& paths, const FindOptions& options = {});

// Takes what is new of `more`, found later. Numbers stay; which traces are of one run is determined
// again. Returns how many traces came.
size_t Append(Job& job, Job more);

// Of the trace that lies there, whichever way it is named; none where it is not in the job.
std::optional<size_t> IndexOf(const Job& job, const std::string& path);

// The folder, or the file, of a trace, whichever part of it was named; absolute.
std::string SpanFolder(const std::string& path);

// Whether it is of a process that helps another one (importers::Importer::is_helper).
bool IsHelper(const Trace& trace);
// The one trace that is of no helper process; none where there are several.
std::optional<Trace> OnlyProgram(const Job& job);

// "4 traces of the PyTorch profiler, 1 captures of Sonde".
std::string Counted(const Job& job);

// A line for Job::repeated, "" where there are none.
std::string DescribeRepeated(const std::vector<std::string>& repeated);

// "a.txt, logs and 3 more", below `folder`.
std::string Named(std::vector<std::string> paths, const std::string& folder);

}  // namespace sonde::job
