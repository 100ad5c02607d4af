// Shapes and types of the inputs of operators, as MindSpore hands them to its profiler of an NPU.
//
// MindSpore asks the profiler "Ascend" whether shapes are wanted, and calls RecordShapesData() for
// each operator if so. A CPU has no such profiler: the question is answered by the CPU's own
// profiler object, whose answer is ours, and shapes come to us. Where an NPU's profiler exists, it
// is asked as before, and its answer is its own.
//
// MindSpore reports the inputs of an operator that the program calls after it has queued its task:
// a mark "inputs of TYPE" is recorded, and the importer gives the shapes to the launch. Kernels of
// compiled graphs on a CPU are launched without this question: they have no shapes.
// Threads: any. Cost while no shapes are wanted: one call a launch.
#ifndef SONDE_ADAPT_MINDSPORE_INPUT_SHAPES_H_
#define SONDE_ADAPT_MINDSPORE_INPUT_SHAPES_H_

#include "adapt/python/self_test_report.h"

namespace sonde::adapt {

// Finds the functions, checks them, and replaces them. Once a process. False: no shapes.
bool InputShapesInit(SelfTestReport* report);
// Libraries that were loaded since then.
void InputShapesFollow();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_MINDSPORE_INPUT_SHAPES_H_
