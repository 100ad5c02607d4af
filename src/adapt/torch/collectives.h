// Facts of a collective: group, ranks, bytes, elements, type, peer; for the call and its work.
//
// Two ranges belong to a collective: the operator c10d::* on the calling thread, which ends when
// the work is queued, and the work itself (gloo:*), often on another thread. Both get the same
// argument set; the work finds its call by its tensor, or in order of the calls of one kind.
//
// Groups come from torch.distributed's own tables, read when a session starts, and from the
// function that makes a group. A call is tied to its group by the address of the process group
// object among its inputs. Requesting inputs from torch costs every operator 20 ns. It is not
// needed where only one group of several ranks exists, and it is Gloo's: calls then have the group,
// works all facts. Threads: calls and works on any thread; a short spin lock, given up after some
// tries, guards the list of calls (a fork may happen while another thread holds it).
#ifndef SONDE_ADAPT_TORCH_COLLECTIVES_H_
#define SONDE_ADAPT_TORCH_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "adapt/python/python_api.h"
#include "adapt/torch/inputs.h"
#include "adapt/torch/self_test.h"

namespace sonde::adapt {

// Kinds of collectives; 0: not one.
enum class Collective : uint8_t {
  kNone,
  kAllReduce,
  kBroadcast,
  kAllGather,
  kReduce,
  kReduceScatter,
  kAllToAll,
  kBarrier,
  kSend,
  kReceive,
  kGather,
  kScatter,
};

// Row of a c10d operator ("c10d::allreduce_"), or -1; kind of a Gloo work ("gloo:all_reduce").
int CollectiveOperator(std::string_view name);
Collective CollectiveWorkKind(std::string_view name);

// [GIL] Follows torch.distributed where torch has it. Both must live as long as the process.
void CollectivesInit(const PythonApi* python, const InputsConfig* inputs, SelfTestReport* report);
// Reads the groups; takes the GIL. inputs_changed is called when NeedInputs() changes.
void CollectivesStart(void (*inputs_changed)());
bool CollectivesNeedInputs();

// [GIL] A process group (PyObject*) or nullptr, and its global ranks in the order of group ranks.
// False: too many groups.
bool CollectivesRegister(const PyObject* group, const char* name, const char* backend,
                         const int64_t* ranks, size_t count);

// Argument sets. `row` from CollectiveOperator(); values nullptr: inputs were not asked for.
// `with_inputs`: add the shapes of all inputs.
uint32_t CollectiveCall(uint32_t word, int row, const TorchValue* values, size_t count,
                        bool with_inputs);
uint32_t CollectiveWork(uint32_t word, Collective kind, const TorchValue* values, size_t count);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_COLLECTIVES_H_
