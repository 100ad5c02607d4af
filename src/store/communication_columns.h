// The columns of communication, as store/tables.h describes them.
#pragma once

#define SONDE_COLUMNS_COMMUNICATION_OP(C)                                                        \
  C(communication_id, Int32, "", "number of the operation, in the order of start",               \
    "cpu activity or level1")                                                                    \
  C(slice_id, Ref, "", "its slice", "always")                                                    \
  C(process_id, Ref, "", "its process", "always")                                                \
  C(device_id, Ref, "", "its device", "always")                                                  \
  C(ts, Int64, "ns", "begin", "always")                                                          \
  C(dur, Int64, "ns", "duration; -1 unfinished", "always")                                       \
  C(name, Name, "", "name with its number, unique in group and step where known", "always")      \
  C(op_type, Name, "", "allreduce, allgather, broadcast, send, recv, ...", "always")             \
  C(group_name, Name, "", "communicator", "always")                                              \
  C(group_hash, Int64, "", "hash of the communicator, the bits of an unsigned number", "always") \
  C(data_type, Name, "", "element type", "always")                                               \
  C(count, Opt, "", "elements", "always")                                                        \
  C(size_bytes, Opt, "bytes", "payload of this rank", "always")                                  \
  C(kept_bytes, Opt, "bytes", "part of it that stays on this rank, of uneven splits", "always")  \
  C(is_p2p, Int16, "", "1: between two ranks", "always")                                         \
  C(peer_rank, Ref, "", "other rank of a send or receive", "always")                             \
  C(rank_size, Opt, "", "ranks in the group", "always")                                          \
  C(wait_ns, Opt, "ns", "time waiting for other ranks", "level1")                                \
  C(transit_ns, Opt, "ns", "time transferring", "level1")                                        \
  C(synchronization_ns, Opt, "ns", "wait before the first transfer", "level1")                   \
  C(idle_ns, Opt, "ns", "rest of the duration", "level1")                                        \
  C(step_id, Opt, "", "number of the step in which it starts", "steps")                          \
  C(launch_slice_id, Ref, "", "call of the framework that asked for it", "cpu activity")         \
  C(connection_id, Opt, "", "number that ties it to the host call", "level1")                    \
  C(algorithm, Name, "", "algorithm or back end (gloo, MESH-RING-NA ...)", "always")

#define SONDE_COLUMNS_COMMUNICATION_TRANSIT(C)                           \
  C(communication_id, Int32, "", "its operation", "level1")              \
  C(transport, Name, "", "HCCS, RDMA, PCIE, SDMA, SIO, LOCAL", "level1") \
  C(src_rank, Ref, "", "from", "level1")                                 \
  C(dst_rank, Ref, "", "to", "level1")                                   \
  C(size_bytes, Int64, "bytes", "transferred", "level1")                 \
  C(duration_ns, Int64, "ns", "time of the transfers", "level1")         \
  C(packet_count, Int64, "", "number of transfers", "level1")            \
  C(link_type, Name, "", "kind of link", "level1")

#define SONDE_COLUMNS_COMMUNICATION_GROUP(C)                                                     \
  C(group_hash, Int64, "", "hash of the communicator, the bits of an unsigned number", "always") \
  C(process_id, Ref, "", "process that is a member", "always")                                   \
  C(name, Name, "", "communicator", "always")                                                    \
  C(description, Name, "", "default_group, dp, tp, ...", "always")                               \
  C(rank_list, Text, "", "global ranks as JSON list", "always")
