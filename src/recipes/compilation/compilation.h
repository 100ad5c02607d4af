// What a compiler of the framework did, one row for each time that it compiled something, before or
// during the recording: from the facts that python/sonde/torch/_compilation.py leaves in a capture.
//
//   phases    each without those that follow it: Dynamo, AOTAutograd, Inductor, compilers of C++
//             and Triton (or loading what they made before), guards
//   step_id   the recorded step in which it began
// Rows in the order of begin. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "recipes/trace/trace_data.h"
#include "store/result_info.h"

namespace sonde::recipes {

#define SONDE_COLUMNS_COMPILATION(C)                                                               \
  C(compile_id, Text, "", KeyOf("compilation"), "the framework's number: frame/compilation of it") \
  C(function, Text, "", KeyOf("function"), "what was compiled")                                    \
  C(file, Text, "", kLabel, "where it is")                                                         \
  C(line, Int, "", kLabel, "its first line")                                                       \
  C(start_ns, Int, "ns", kLabel, "begin, of the Unix epoch")                                       \
  C(dur_ns, Int, "ns", kLess, "duration")                                                          \
  C(tracing_ns, Int, "ns", kLess, "of it Dynamo, which traces the program")                        \
  C(aot_ns, Int, "ns", kLess, "AOTAutograd, without Inductor")                                     \
  C(inductor_ns, Int, "ns", kLess, "Inductor, without other compilers")                            \
  C(native_ns, Int, "ns", kLess, "compilers of C++ and Triton, or loading what they made")         \
  C(guards_ns, Int, "ns", kLess, "making guards")                                                  \
  C(cache, OptText, "", kLabel, "what the framework's caches had")                                 \
  C(reason, OptText, "", kLabel, "guard that failed, of a recompilation")                          \
  C(breaks, Int, "", kLess, "graph breaks")                                                        \
  C(break_reasons, OptText, "", kLabel, "why and where the graph broke, '; ' between")             \
  C(guards, Int, "", kNeither, "guards that decide whether the code may be used again")            \
  C(operators, Int, "", kNeither, "operators of the graph")                                        \
  C(is_backward, Int, "", kLabel, "1: a backward part that was compiled by itself")                \
  C(step_id, Opt, "", KeyOf("step"), "recorded step in which it began")                            \
  C(error, OptText, "", kLabel, "why it failed")
SONDE_RESULT(CompilationRow, kCompilation, "compilation", SONDE_COLUMNS_COMPILATION,
             "a compilation of a part of the program")

using CompilationTexts = std::deque<std::string>;  // grows without moving what is in it

// The texts of the rows live as long as `texts`. Needs the table of steps.
std::vector<CompilationRow> Compilations(const TraceData& data, CompilationTexts& texts);

}  // namespace sonde::recipes
