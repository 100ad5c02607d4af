// How long a collective has to take when its group grows, by the time that it takes in the smaller.
//
//   r = ranks / ranks before, m = elements x bytes of one, B = 160 Gbit/s (80 % of 200), a = 60 us
//   extra = a x ceil(log2 r) + m / B x (r - 1); twice that for an all-reduce
// as the helpers of the reference's mode of this name have it: a group that did not grow takes what
// it took. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace sonde::cluster {

// Of an element, by the name of its type (FP32); 2 where it is not known.
int64_t ElementBytes(std::string_view data_type);

struct Collective {
  std::string_view kind;  // allReduce, allGather, ...
  std::string_view data_type;
  int64_t count = 0;
};

// 1: as long as before.
double LeastRatio(const Collective& collective, double base_ns, int64_t ranks, int64_t base_ranks);

}  // namespace sonde::cluster
