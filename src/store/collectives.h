// Which kernels and operators communicate, by their names: the list of collectives.inc, and in
// front of it what the user adds by a file that SONDE_COLLECTIVES names:
//
//   kernels:                           # parts of a function's name, in small letters
//     my_one_shot_sum: allreduce
//   operators:                         # whole names; they launch nothing but such kernels
//     "mylib::sum": allreduce
//   never: [my_one_shot_sum_softmax]   # parts of names of kernels that compute
//
// Importers fill in from it what work is; all others ask recipes/meaning. Read once in a process.
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::store {

struct Collective {
  std::string name;
  std::string type;  // "allreduce"; "": it computes
};

struct Collectives {
  std::vector<Collective> kernels;  // the first entry that fits counts
  std::vector<Collective> operators;
  uint64_t stamp = 0;  // of what the user added; 0: nothing
};

const Collectives& KnownCollectives();
// The type of an operator, by its whole name; "" where it is none of the list.
std::string_view OperatorCollective(std::string_view name);

// What is wrong with the user's file, which then adds nothing.
Status CheckCollectives();
// The list with the file `path`; "" is no file.
Result<Collectives> ReadCollectives(const std::string& path);

}  // namespace sonde::store
