#include "adapt/torch/collectives.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include "adapt/torch/process_groups.h"
#include "capture/args.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

struct OperatorRow {
  const char* name;
  Collective kind;
  int8_t payload;  // input with the data that this rank sends (or receives, where it sends nothing)
  int8_t peer;     // input with the peer's rank in the group; -1: none
};
constexpr OperatorRow kOperators[] = {
    {"allreduce_", Collective::kAllReduce, 0, -1},
    {"allreduce_coalesced_", Collective::kAllReduce, 0, -1},
    {"broadcast_", Collective::kBroadcast, 0, -1},
    {"allgather_", Collective::kAllGather, 1, -1},
    {"_allgather_base_", Collective::kAllGather, 1, -1},
    {"allgather_coalesced_", Collective::kAllGather, 1, -1},
    {"allgather_into_tensor_coalesced_", Collective::kAllGather, 1, -1},
    {"reduce_", Collective::kReduce, 0, -1},
    {"reduce_scatter_", Collective::kReduceScatter, 1, -1},
    {"_reduce_scatter_base_", Collective::kReduceScatter, 1, -1},
    {"reduce_scatter_tensor_coalesced_", Collective::kReduceScatter, 1, -1},
    {"alltoall_base_", Collective::kAllToAll, 1, -1},
    {"alltoall_", Collective::kAllToAll, 1, -1},
    {"barrier", Collective::kBarrier, -1, -1},
    {"monitored_barrier_", Collective::kBarrier, -1, -1},
    {"send", Collective::kSend, 0, 2},
    {"recv_", Collective::kReceive, 0, 2},
    {"recv_any_source_", Collective::kReceive, 0, -1},
    {"gather_", Collective::kGather, 1, -1},
    {"scatter_", Collective::kScatter, 0, -1},
};

struct WorkRow {
  const char* name;
  Collective kind;
};
constexpr WorkRow kWorks[] = {
    {"all_reduce", Collective::kAllReduce},
    {"broadcast", Collective::kBroadcast},
    {"all_gather", Collective::kAllGather},
    {"reduce", Collective::kReduce},
    {"all_to_all", Collective::kAllToAll},
    {"reduce_scatter", Collective::kReduceScatter},
    {"barrier", Collective::kBarrier},
    {"send", Collective::kSend},
    {"recv", Collective::kReceive},
    {"recvAnySource", Collective::kReceive},
    {"gather", Collective::kGather},
    {"scatter", Collective::kScatter},
    {"sparse_all_reduce", Collective::kAllReduce},
};

// The payload of a collective on this rank. bytes -1: not known.
struct Payload {
  int64_t elements = -1;
  int64_t bytes = -1;
  int dtype = -1;
  const void* first = nullptr;  // tensors by which the work may be recognised
  const void* second = nullptr;
};

// A call whose work has not begun.
struct Pending {
  uint32_t word = 0;  // 0: free
  Collective kind = Collective::kNone;
  uint32_t args = 0;
  bool complete = false;  // args hold the payload, too
  const void* first = nullptr;
  const void* second = nullptr;
  const ProcessGroup* group = nullptr;
};
constexpr size_t kPending = 256;

struct Keys {
  uint32_t group_name, group_ranks, bytes, count, dtype, peer, backend, inputs;
};

struct Collectives {
  const PythonApi* python = nullptr;
  const InputsConfig* inputs = nullptr;
  PyObject* refresh = nullptr;  // Python function that registers all groups
  ProcessGroups groups;
  std::atomic<void (*)()> inputs_changed{nullptr};
  std::atomic<bool> keys_made{false};
  Keys keys = {};
  // How a process group is wrapped among the inputs, found at the first one that is known.
  std::atomic<uint32_t> object_tag{0};
  std::atomic<uint32_t> object_slots{0};
  std::atomic_flag locked = ATOMIC_FLAG_INIT;
  size_t next = 0;
  Pending pending[kPending];
};
// Process-wide by nature, as torch.distributed's tables are.
Collectives g_collectives;

class SpinLock {
 public:
  SpinLock() {
    for (int i = 0; i < 2000 && !held_; i++) {
      held_ = !g_collectives.locked.test_and_set(std::memory_order_acquire);
    }
  }
  ~SpinLock() {
    if (held_) g_collectives.locked.clear(std::memory_order_release);
  }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
  bool held() const { return held_; }

 private:
  bool held_ = false;
};

void AddTensor(const void* tensor, Payload* payload) {
  if (payload->first == nullptr) payload->first = tensor;
  const TensorFacts facts = ReadTensor(*g_collectives.inputs, tensor);
  if (facts.elements < 0) return;
  if (payload->elements < 0) payload->elements = payload->bytes = 0;
  payload->elements += facts.elements;
  payload->bytes += facts.elements * DtypeBytes(facts.dtype);
  payload->dtype = facts.dtype;
}

// A tensor, a list of tensors, or a list of such lists.
void AddValue(const TorchValue& value, int depth, Payload* payload) {
  const Layout& layout = g_collectives.inputs->layout;
  if (value.tag == kTagTensor) {
    AddTensor(reinterpret_cast<const void*>(value.payload), payload);
  } else if (value.tag == layout.tag_list && layout.tag_list != 0 && depth < 2) {
    const auto* list = reinterpret_cast<const char*>(value.payload);
    const auto* end = ReadAt<const TorchValue*>(list, layout.list_vector + 8);
    for (const auto* item = ReadAt<const TorchValue*>(list, layout.list_vector); item < end;
         item++) {
      AddValue(*item, depth + 1, payload);
    }
  }
}

Payload ReadPayload(const OperatorRow& row, const TorchValue* values, size_t count) {
  Payload payload;
  if (row.payload < 0) {
    payload.elements = payload.bytes = 0;
    return payload;
  }
  if (static_cast<size_t>(row.payload) < count) AddValue(values[row.payload], 0, &payload);
  Payload other;
  if (count > 0) AddValue(values[0], 0, &other);
  payload.second = other.first;
  return payload;
}

// Reads memory of this process that may not be mapped: the system call fails where a load would
// crash.
bool ReadCarefully(const void* address, void* out, size_t size) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const auto length = static_cast<ssize_t>(size);
  const bool ok = write(ends[1], address, size) == length && read(ends[0], out, size) == length;
  close(ends[0]);
  close(ends[1]);
  return ok;
}

// Finds where an object among the inputs keeps a group that is known by its address.
const ProcessGroup* LearnGroup(const TorchValue& value) {
  const char* object = reinterpret_cast<const char*>(value.payload);
  for (uint32_t offset = 16; offset <= 96; offset += 8) {
    const void* slots = nullptr;
    TorchValue slot = {};
    if (!ReadCarefully(object + offset, static_cast<void*>(&slots), sizeof(slots)) ||
        !ReadCarefully(slots, &slot, sizeof(slot))) {
      continue;
    }
    const auto* group =
        g_collectives.groups.FindByAddress(reinterpret_cast<const void*>(slot.payload));
    if (group == nullptr) continue;
    g_collectives.object_slots.store(offset, std::memory_order_relaxed);
    g_collectives.object_tag.store(value.tag, std::memory_order_release);
    return group;
  }
  return nullptr;
}

const ProcessGroup* GroupOf(const TorchValue* values, size_t count) {
  const Layout& layout = g_collectives.inputs->layout;
  const uint32_t tag = g_collectives.object_tag.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; i++) {
    const TorchValue& value = values[i];
    const ProcessGroup* group = nullptr;
    if (tag == 0) {
      if (value.tag > layout.tag_list && layout.tag_list != 0) group = LearnGroup(value);
    } else if (value.tag == tag) {
      const auto* slots =
          ReadAt<const TorchValue*>(reinterpret_cast<const void*>(value.payload),
                                    g_collectives.object_slots.load(std::memory_order_relaxed));
      group = g_collectives.groups.FindByAddress(reinterpret_cast<const void*>(slots->payload));
    }
    if (group != nullptr) return group;
  }
  return g_collectives.groups.Only();
}

uint32_t Key(const char* text) { return sonde_intern(text, std::strlen(text)); }

const Keys& GetKeys() {
  if (!g_collectives.keys_made.load(std::memory_order_acquire)) {
    // Two threads at once store the same ids.
    g_collectives.keys = {Key(capture::kKeyGroupName), Key(capture::kKeyGroupRanks),
                          Key(capture::kKeyBytes),     Key(capture::kKeyCount),
                          Key(capture::kKeyDtype),     Key(capture::kKeyPeerRank),
                          Key(capture::kKeyBackend),   Key(capture::kKeyInputs)};
    g_collectives.keys_made.store(true, std::memory_order_release);
  }
  return g_collectives.keys;
}

void AddText(sonde_args_builder* builder, uint32_t key, const std::string& text) {
  sonde_args_text(builder, key, text.data(), text.size());
}

void AddFacts(sonde_args_builder* builder, const ProcessGroup* group, const Payload& payload,
              int64_t peer) {
  const Keys& keys = GetKeys();
  if (group != nullptr) {
    AddText(builder, keys.group_name, group->name);
    // By dictionary id: thousands of ranks would not fit into a set, and each call would repeat
    // them.
    sonde_args_field(builder, keys.group_ranks, static_cast<uint16_t>(capture::ArgType::kName),
                     &group->ranks_name, sizeof(group->ranks_name));
    if (!group->backend.empty()) AddText(builder, keys.backend, group->backend);
    if (peer >= 0 && static_cast<size_t>(peer) < group->ranks.size()) {
      sonde_args_int(builder, keys.peer, group->ranks[static_cast<size_t>(peer)]);
    }
  }
  if (payload.bytes < 0) return;
  sonde_args_int(builder, keys.bytes, payload.bytes);
  sonde_args_int(builder, keys.count, payload.elements);
  if (payload.dtype >= 0) {
    const char* dtype = DtypeName(payload.dtype);
    sonde_args_text(builder, keys.dtype, dtype, std::strlen(dtype));
  }
}

void Remember(const Pending& call) {
  const SpinLock lock;
  if (!lock.held()) return;
  g_collectives.pending[g_collectives.next++ % kPending] = call;
}

// The call of a work that begins; by tensor, else the earliest of its kind. Removed from the list.
bool TakePending(uint32_t word, Collective kind, const void* tensor, Pending* found) {
  const SpinLock lock;
  if (!lock.held()) return false;
  Pending* by_kind = nullptr;
  Pending* by_tensor = nullptr;
  for (size_t i = 0; i < kPending && by_tensor == nullptr; i++) {
    Pending& call = g_collectives.pending[(g_collectives.next + i) % kPending];
    if (call.word != word) continue;
    // Gloo implements reduce-scatter by an all-reduce on a tensor of its own.
    const bool fits = call.kind == kind ||
                      (kind == Collective::kAllReduce && call.kind == Collective::kReduceScatter);
    if (!fits) continue;
    if (tensor != nullptr && (call.first == tensor || call.second == tensor)) by_tensor = &call;
    if (by_kind == nullptr || (by_kind->kind != kind && call.kind == kind)) by_kind = &call;
  }
  Pending* taken = by_tensor != nullptr ? by_tensor : by_kind;
  if (taken == nullptr) return false;
  *found = *taken;
  taken->word = 0;
  return true;
}

PyObject* None() {
  const PythonApi& python = *g_collectives.python;
  PyObject* builtins = python.import_module("builtins");
  PyObject* none = python.get_attribute(builtins, "None");
  python.release(builtins);
  return none;
}

// register(group, name, backend, ranks) for the program below.
PyObject* PyRegister(PyObject*, PyObject* arguments) {
  const PythonApi& python = *g_collectives.python;
  PyObject* ranks = python.tuple_get(arguments, 3);
  const char* name = python.utf8(python.tuple_get(arguments, 1), nullptr);
  const char* backend = python.utf8(python.tuple_get(arguments, 2), nullptr);
  if (ranks == nullptr || name == nullptr || backend == nullptr) return nullptr;
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(python.list_size(ranks)));
  for (intptr_t i = 0; i < python.list_size(ranks); i++) {
    numbers.push_back(static_cast<int64_t>(python.long_as_u64(python.list_get(ranks, i))));
  }
  CollectivesRegister(python.tuple_get(arguments, 0), name, backend, numbers.data(),
                      numbers.size());
  return None();
}

PyObject* PyKeepRefresh(PyObject*, PyObject* arguments) {
  const PythonApi& python = *g_collectives.python;
  g_collectives.refresh = python.tuple_get(arguments, 0);
  if (g_collectives.refresh == nullptr) return nullptr;
  python.retain(g_collectives.refresh);
  return None();
}

PyMethod g_register = {"register", PyRegister, kPyMethodVarargs, nullptr};
PyMethod g_keep_refresh = {"keep_refresh", PyKeepRefresh, kPyMethodVarargs, nullptr};

constexpr char kProgram[] = R"py(
import functools
import sys

NAME = "torch.distributed.distributed_c10d"

def enter(world, group, ranks):
    backend = (world.pg_map.get(group) or ("",))[0]
    register(group, str(world.pg_names[group]), str(backend), ranks)

def refresh():
    module = sys.modules.get(NAME)
    world = getattr(module, "_world", None)
    if world is None:
        return
    for group in list(world.pg_names):
        members = world.pg_group_ranks.get(group)
        if not members:
            continue
        enter(world, group, sorted(members, key=members.get))

def follow(module):
    original = getattr(module, "_new_process_group_helper", None)
    if original is None:
        return
    # torch enters the ranks into its tables only after this function; they are its arguments, and
    # none means all.
    @functools.wraps(original)
    def helper(group_size, group_rank, global_ranks_in_group, *args, **kwargs):
        result = original(group_size, group_rank, global_ranks_in_group, *args, **kwargs)
        group = result[0] if isinstance(result, tuple) else result
        if group in module._world.pg_names:
            enter(module._world, group, list(global_ranks_in_group or range(group_size)))
        return result
    module._new_process_group_helper = helper

keep_refresh(refresh)
module = sys.modules.get(NAME)
if module is not None:
    follow(module)
followed = int(module is not None)
)py";

void Refresh() {
  const PythonApi& python = *g_collectives.python;
  const GilScope gil(python);
  if (!gil.held() || g_collectives.refresh == nullptr) return;
  PyObject* error[3] = {nullptr, nullptr, nullptr};
  python.error_fetch(&error[0], &error[1], &error[2]);
  PyObject* result = python.call(g_collectives.refresh, nullptr);
  if (result == nullptr) {
    char text[160];
    TakeError(python, text, sizeof(text));
    sonde_report_issue("PyTorch adapter: process groups of torch.distributed not readable");
  }
  python.release(result);
  python.error_restore(error[0], error[1], error[2]);
}

}  // namespace

int CollectiveOperator(std::string_view name) {
  constexpr std::string_view kPrefix = "c10d::";
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  for (size_t i = 0; i < std::size(kOperators); i++) {
    if (name == kOperators[i].name) return static_cast<int>(i);
  }
  return -1;
}

Collective CollectiveWorkKind(std::string_view name) {
  constexpr std::string_view kPrefix = "gloo:";
  if (!name.starts_with(kPrefix)) return Collective::kNone;
  name.remove_prefix(kPrefix.size());
  for (const WorkRow& row : kWorks) {
    if (name == row.name) return row.kind;
  }
  return Collective::kNone;
}

void CollectivesInit(const PythonApi* python, const InputsConfig* inputs, SelfTestReport* report) {
  g_collectives.python = python;
  g_collectives.inputs = inputs;
  const NamedObject objects[] = {
      {"register", python->function_new(&g_register, nullptr, nullptr)},
      {"keep_refresh", python->function_new(&g_keep_refresh, nullptr, nullptr)}};
  uint64_t followed = 0;
  const bool ran =
      RunProgram(*python, kProgram, objects, std::size(objects), "followed", &followed);
  for (const NamedObject& object : objects) python->release(object.object);
  report->Add("process groups", ran,
              !ran            ? "torch.distributed not followed; collectives have no group"
              : followed == 1 ? ""
                              : "torch.distributed is not available");
}

void CollectivesStart(void (*inputs_changed)()) {
  Refresh();
  g_collectives.inputs_changed.store(inputs_changed);
}

bool CollectivesNeedInputs() {
  bool all_gloo = true;
  const size_t shared = g_collectives.groups.CountShared(&all_gloo);
  return g_collectives.inputs->layout.inputs && (shared > 1 || !all_gloo);
}

bool CollectivesRegister(const PyObject* group, const char* name, const char* backend,
                         const int64_t* ranks, size_t count) {
  ProcessGroup entry;
  entry.address = group != nullptr ? HeldObject(group) : nullptr;
  entry.name = name;
  entry.backend = backend;
  entry.ranks.assign(ranks, ranks + count);
  const std::string json = RanksJson(entry.ranks);
  entry.ranks_name = sonde_intern(json.data(), json.size());
  const bool before = CollectivesNeedInputs();
  const bool added = g_collectives.groups.Add(std::move(entry));
  void (*changed)() = g_collectives.inputs_changed.load();
  if (changed != nullptr && CollectivesNeedInputs() != before) changed();
  return added;
}

uint32_t CollectiveCall(uint32_t word, int row, const TorchValue* values, size_t count,
                        bool with_inputs) {
  const OperatorRow& op = kOperators[row];
  Pending call = {word, op.kind, 0, values != nullptr, nullptr, nullptr, nullptr};
  Payload payload;
  int64_t peer = -1;
  if (values != nullptr) {
    payload = ReadPayload(op, values, count);
    call.group = GroupOf(values, count);
    if (op.peer >= 0 && static_cast<size_t>(op.peer) < count && values[op.peer].tag == kTagInt) {
      peer = static_cast<int64_t>(values[op.peer].payload);
    }
  } else {
    call.group = g_collectives.groups.Only();
  }
  sonde_args_builder builder;
  sonde_args_init(&builder);
  AddFacts(&builder, call.group, payload, peer);
  if (with_inputs) AddInputs(*g_collectives.inputs, values, count, GetKeys().inputs, &builder);
  call.args = builder.size > 0 ? sonde_args_intern(&builder) : 0;
  call.first = payload.first;
  call.second = payload.second;
  Remember(call);
  return call.args;
}

uint32_t CollectiveWork(uint32_t word, Collective kind, const TorchValue* values, size_t count) {
  Payload payload;
  if (kind == Collective::kBarrier) payload.elements = payload.bytes = 0;
  if (values != nullptr && count > 0) AddValue(values[0], 0, &payload);
  Pending call;
  const bool known = TakePending(word, kind, payload.first, &call);
  if (known && call.complete) return call.args;
  const ProcessGroup* group = known ? call.group : g_collectives.groups.Only();
  sonde_args_builder builder;
  sonde_args_init(&builder);
  AddFacts(&builder, group, payload, -1);
  return builder.size > 0 ? sonde_args_intern(&builder) : 0;
}

}  // namespace sonde::adapt
