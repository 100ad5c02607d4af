// How the ecosystem names communication: groups by a hash, operations by group and number.
//
// Group hash (profiler deliverables and databases; join key between ranks): for each byte c of the
// communicator's name, h0 = h0 * 29 + c and h1 = h1 * 131 + c, both modulo 2^32; the hash is
// (h0 << 32) | h1, written in decimal.
// Operation: hcom_<kind>__<last three digits of the group's hash>_<number in the group>_1; its type
// is hcom_<kind>_. Peers match operations of different ranks by this name.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::recipes {

uint64_t GroupHash(std::string_view communicator);

// "allReduce" for "allreduce", "all_reduce", "gloo:all_reduce", "nccl:all_reduce" ...; the text
// itself without prefix where it is not known.
std::string_view HcomKind(std::string_view op_type);

// "hcom_allReduce_".
std::string HcomType(std::string_view op_type);
// "hcom_allReduce__586_0_1".
std::string HcomName(std::string_view op_type, uint64_t group_hash, uint64_t number_in_group);

// Send, receive or a batch of both, by the name of the operation.
bool IsPointToPoint(std::string_view hcom_name);

// Names of data types: "FP32" for torch's "float32", "Float" or "c10::Float"; "INVALID_TYPE" for
// others. See ENUM_HCCL_DATA_TYPE of the profiler database.
std::string_view HcclDataType(std::string_view type);

}  // namespace sonde::recipes
