#include "job/runs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::job {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The begin of the digits that end before `end`; `end` where there are none.
size_t DigitsBefore(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && IsDigit(text[begin - 1])) --begin;
  return begin;
}

struct Member {
  size_t trace = 0;  // index
  int32_t rank = -1;
  std::optional<NamedProcess> process;
};

bool IsSameProcess(const Member& a, const Member& b) {
  return a.process && b.process && a.process->pid == b.process->pid &&
         a.process->host == b.process->host;
}

using Run = std::vector<Member>;

// Whether they cannot be of one launch.
bool Conflict(const Run& run, const Member& other) {
  return std::any_of(run.begin(), run.end(), [&](const Member& member) {
    return member.rank >= 0 && member.rank == other.rank && !IsSameProcess(member, other);
  });
}

bool Conflict(const Run& run, const Run& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Member& other) { return Conflict(run, other); });
}

// Of traces of one folder.
std::vector<Run> RunsOfFolder(std::vector<Member> members) {
  const bool has_times = std::all_of(members.begin(), members.end(), [](const Member& member) {
    return member.process.has_value();
  });
  if (has_times) {
    std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return a.process->time < b.process->time;
    });
  }
  std::vector<Run> runs;
  for (Member& member : members) {
    auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& known) {
      return std::any_of(known.begin(), known.end(),
                         [&](const Member& other) { return IsSameProcess(other, member); });
    });
    // In the order of time launches follow each other; else a rank's first trace is of the first.
    if (run == runs.end() && has_times && !runs.empty()) run = runs.end() - 1;
    if (run == runs.end()) run = runs.begin();
    while (run != runs.end() && Conflict(*run, member)) ++run;
    if (run == runs.end()) run = runs.insert(run, Run());
    run->push_back(std::move(member));
  }
  return runs;
}

}  // namespace

// Looks for digits of a time behind those of a process: "host_123_20250109081616713_ascend_pt",
// "host_123.1700000000000000000.pt.trace.json".
std::optional<NamedProcess> ProcessOfName(std::string_view name) {
  constexpr size_t kTimeDigits = 10;  // at least: seconds of the Unix epoch
  for (size_t end = name.size(); end > kTimeDigits; --end) {
    const size_t begin = DigitsBefore(name, end);
    if (end - begin < kTimeDigits || begin < 2) continue;
    if (name[begin - 1] != '_' && name[begin - 1] != '.') continue;
    const size_t pid = DigitsBefore(name, begin - 1);
    if (pid == begin - 1 || pid == 0 || name[pid - 1] != '_') continue;
    const auto number = base::ParseInt64(name.substr(pid, begin - 1 - pid));
    const auto time = base::ParseInt64(name.substr(begin, end - begin));
    if (number && time) return NamedProcess{std::string(name.substr(0, pid - 1)), *number, *time};
  }
  return std::nullopt;
}

void GroupRuns(std::span<Trace> traces) {
  std::vector<std::string> folders;  // in the order of the traces
  std::map<std::string, std::vector<Member>> members;
  for (size_t i = 0; i < traces.size(); ++i) {
    const std::string span = SpanFolder(traces[i].source.path);
    const std::string folder(base::DirName(span));
    std::vector<Member>& list = members[folder];
    if (list.empty()) folders.push_back(folder);
    list.push_back({i, traces[i].rank, ProcessOfName(base::BaseName(span))});
  }
  std::vector<Run> runs;
  for (const std::string& folder : folders) {
    for (Run& found : RunsOfFolder(std::move(members[folder]))) {
      auto run = std::find_if(runs.begin(), runs.end(),
                              [&](const Run& known) { return !Conflict(known, found); });
      if (run == runs.end()) run = runs.insert(run, Run());
      run->insert(run->end(), found.begin(), found.end());
    }
  }
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const Member& member : runs[run]) {
      traces[member.trace].run = static_cast<int32_t>(run);
    }
  }
}

}  // namespace sonde::job
