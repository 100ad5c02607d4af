// Which of several processes this one is, from the launcher's variables: Open MPI (mpirun), PMI
// (MPICH, Intel MPI), Slurm's srun. No library of theirs is needed. Pure but for the
// environment and the standard input, which they change for no one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::cluster {

struct Place {
  int32_t number = 0;
  int32_t count = 1;
  std::string_view given_by = {};  // name of the variable with the count
  bool is_shared() const { return count > 1; }
};

// One of one where the variables are absent or impossible; and where they belong to another
// program that passed them on: the script of a Slurm job and the shell of salloc (only
// steps, srun, have several processes), a shell that a launcher started (its input is a terminal,
// which launchers give to nobody), a child of a worker of torchrun.
Place PlaceOfEnvironment();

// "2/8", of --part: the third of eight. Errors: kInvalidArgument.
Result<Place> ParsePlace(const std::string& text);

}  // namespace sonde::cluster
