// Columns of tables.h that several tables have: the use of processors in a step.
//
// Of a step's thread and its process, where the recorder noted it at begin and end. The time of a
// step without processor time and without processor_wait_ns is waiting by the program's own will.
#pragma once

#define SONDE_COLUMNS_PROCESSOR_USE(C, SWITCH)                                                     \
  C(processor_ns, Opt, "ns", "processor time of its thread, user and system", SWITCH)              \
  C(processor_wait_ns, Opt, "ns", "its thread was ready to run, others had the processor", SWITCH) \
  C(involuntary_switches, Opt, "", "how often its thread was taken off a processor", SWITCH)       \
  C(process_processor_ns, Opt, "ns", "processor time of all threads of the process", SWITCH)       \
  C(process_involuntary_switches, Opt, "", "how often any of them was taken off", SWITCH)          \
  C(major_faults, Opt, "", "pages that its thread waited for: read from a disk or swap", SWITCH)   \
  C(process_major_faults, Opt, "", "the same of all threads of the process", SWITCH)
