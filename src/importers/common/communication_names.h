// Names of collectives and of groups in the spelling of this ecosystem.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::importers::common {

// The hash by which this ecosystem joins groups: two polynomials over the bytes of the name.
uint64_t GroupHash(std::string_view name);

// "c10d::allreduce_", "gloo:all_reduce" and "_c10d_functional::all_reduce" -> "allreduce".
std::string NormalCollective(std::string_view name);

// Name of the `index`-th operation of a group, counted from 0: "hcom_allReduce__586_0_1".
std::string CollectiveName(const std::string& type, uint64_t group_hash, int64_t index);

// "send", "receive", "sendrecv" and the like: between two ranks.
bool IsPointToPoint(std::string_view type);

}  // namespace sonde::importers::common
