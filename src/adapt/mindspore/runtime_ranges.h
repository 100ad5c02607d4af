// The events that MindSpore's runtime records of itself: launches of kernels, tasks of its pipeline
// threads, waits, stages of compiling and running, and the moments at which a task is queued.
//
// MindSpore's libraries record by a handful of exported functions, which do nothing unless its own
// runtime profiler is armed. Ours take their place in the import tables. A range becomes a record
// of the thread at once; launches of kernels are operators, everything else is a range of the
// framework called "Module::Event::name". Where MindSpore's profiler is armed, too, its function is
// called as well.
//
// Layouts that are relied upon, the same in 2.7 to 2.10 and checked: the recorder object has 8
// bytes, that of a stage 16, which only its two functions touch; ProfilerData (launches of graph
// kernels) as in runtime_ranges.cc, whose times must agree in each record.
// Threads: any. While nothing is recorded: 4 ns a range.
#ifndef SONDE_ADAPT_MINDSPORE_RUNTIME_RANGES_H_
#define SONDE_ADAPT_MINDSPORE_RUNTIME_RANGES_H_

#include <cstdint>

#include "adapt/python/self_test_report.h"

namespace sonde::adapt {

struct RuntimeParts {
  bool ranges = false;         // operators, tasks, waits
  bool stages = false;         // compile and run
  bool graph_kernels = false;  // launches inside compiled graphs
  bool hand_overs = false;
};

// Finds the functions, checks them, and replaces them. Once a process.
RuntimeParts RuntimeRangesInit(SelfTestReport* report);
// Libraries that were loaded since then.
void RuntimeRangesFollow();
// Whether ranges of operators get the Python stack of their thread.
void RuntimeRangesWantStacks(bool wanted);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_MINDSPORE_RUNTIME_RANGES_H_
