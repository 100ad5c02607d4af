#include "adapt/mindspore/input_shapes.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "adapt/elf/import_table.h"
#include "adapt/mindspore/old_string.h"
#include "adapt/mindspore/thread_state.h"
#include "base/hash.h"
#include "capture/args.h"
#include "capture/mindspore_names.h"
#include "capture/mindspore_types.h"
#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

using capture::InputTag;
using capture::RecordKind;

enum Function : uint32_t { kInstance, kRecordShapes, kFunctionCount };
constexpr const char* kSymbols[kFunctionCount] = {
    "_ZN9mindspore8profiler8Profiler11GetInstanceERKSs",
    "_ZN9mindspore7runtime16ProfilerAnalyzer16RecordShapesDataERKSsRKSt6vectorIS4_IlSaIlEESaIS6_"
    "EERKS4_ISsSaISsEE",
};
constexpr const char* kWantsShapes = "_ZN9mindspore8profiler8Profiler18EnableRecordShapesEv";
// Where operators ask; others use the profiler of an NPU for more than this question.
constexpr const char* kAsking[] = {"libmindspore_ms_backend", "libmindspore_pyboost",
                                   "libmindspore_ops_cpu", nullptr};
constexpr const char* kOfCpu[] = {"libmindspore_cpu", nullptr};
constexpr std::string_view kNpu = "Ascend";
constexpr size_t kMaxEntries = 64;
constexpr size_t kMaxBytes = SONDE_ARGS_CAPACITY - sizeof(capture::ArgHead) - 4;
constexpr size_t kMaxDims = 64;

struct SharedPointer {
  void* object;
  void* control;  // nullptr: nobody counts
};
template <typename T>
struct OldVector {
  const T* begin;
  const T* end;
  const T* capacity;

  size_t size() const { return static_cast<size_t>(end - begin); }
};
using Shape = OldVector<int64_t>;

using Instance = void (*)(SharedPointer*, const OldString*);
using RecordShapes = void (*)(void*, const OldString*, const OldVector<Shape>*,
                              const OldVector<OldString>*);

struct Shapes {
  void* originals[kFunctionCount] = {};
  void* ours[kFunctionCount] = {};
  void* cpu_profiler = nullptr;
};
// Process-wide by nature: the replaced functions get no user pointer.
Shapes g_shapes;

bool OnWantsShapes(void*) { return (record::SessionWord() & SONDE_FEATURE_SHAPES) != 0; }

void OnInstance(SharedPointer* result, const OldString* name) {
  reinterpret_cast<Instance>(g_shapes.originals[kInstance])(result, name);
  if (result->object == nullptr && name->view() == kNpu) result->object = g_shapes.cpu_profiler;
}

// Writes the inputs as capture/args.h has them; 0: they do not fit, or there are none.
size_t Encode(const OldVector<Shape>& shapes, const OldVector<OldString>& types,
              unsigned char* bytes) {
  const size_t count = shapes.size();
  if (count == 0 || count > UINT16_MAX) return 0;
  const auto number = static_cast<uint16_t>(count);
  std::memcpy(bytes, &number, sizeof(number));
  size_t used = sizeof(number);
  for (size_t i = 0; i < count; i++) {
    const Shape& shape = shapes.begin[i];
    const uint8_t type =
        i < types.size() ? capture::MindsporeTypeCode(types.begin[i].view()) : uint8_t{255};
    if (shape.size() > kMaxDims || used + 3 + shape.size() * 8 > kMaxBytes) return 0;
    const auto dims = static_cast<uint8_t>(shape.size());
    bytes[used++] = static_cast<unsigned char>(InputTag::kTensor);
    bytes[used++] = type;
    bytes[used++] = dims;
    std::memcpy(bytes + used, shape.begin, dims * sizeof(int64_t));
    used += dims * sizeof(int64_t);
  }
  return used;
}

uint32_t InternInputs(ThreadState& state, const unsigned char* bytes, size_t length) {
  const uint64_t hash = base::HashBytes(bytes, length) | 1;
  uint32_t id = 0;
  if (state.inputs.Find(hash, &id)) return id;
  static const uint32_t key = sonde_intern(capture::kKeyInputs, sizeof(capture::kKeyInputs) - 1);
  sonde_args_builder builder;
  sonde_args_init(&builder);
  sonde_args_field(&builder, key, static_cast<uint16_t>(capture::ArgType::kInputs), bytes, length);
  id = sonde_args_intern(&builder);
  state.inputs.Add(hash, id);
  return id;
}

uint32_t MarkName(ThreadState& state, std::string_view type) {
  const uint64_t hash = base::HashString(type, 0) | 1;
  uint32_t id = 0;
  if (state.input_marks.Find(hash, &id)) return id;
  std::string name(capture::kInputsOf);
  name.append(type);
  id = sonde_intern(name.data(), name.size());
  state.input_marks.Add(hash, id);
  return id;
}

void Take(uint32_t word, std::string_view name, const OldVector<Shape>& shapes,
          const OldVector<OldString>& types) {
  ThreadState* state = GetThreadState();
  if (state == nullptr) return;
  unsigned char bytes[SONDE_ARGS_CAPACITY];
  const size_t length = Encode(shapes, types, bytes);
  if (length == 0) return;
  const std::string_view type = capture::MindsporeOperatorType(name);
  const uint32_t args = InternInputs(*state, bytes, length);
  record::EmitInstant(word, RecordKind::kMark, 0, MarkName(*state, type), args, 0, -1);
}

void OnRecordShapes(void* analyzer, const OldString* name, const OldVector<Shape>* shapes,
                    const OldVector<OldString>* types) {
  const uint32_t word = record::SessionWord();
  if ((word & SONDE_FEATURE_SHAPES) != 0) Take(word, name->view(), *shapes, *types);
  reinterpret_cast<RecordShapes>(g_shapes.originals[kRecordShapes])(analyzer, name, shapes, types);
}

// The first that is not there; nullptr: all are.
const char* FindOriginals() {
  void* library = dlopen("libmindspore_profiler.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "libmindspore_profiler.so";
  for (uint32_t i = 0; i < kFunctionCount; i++) {
    g_shapes.originals[i] = dlsym(library, kSymbols[i]);
    if (g_shapes.originals[i] == nullptr) return kSymbols[i];
  }
  struct {
    size_t length = 3;
    size_t capacity = 3;
    int64_t references = 0;
    char text[8] = "CPU";
  } cpu;
  const OldString name = {cpu.text};
  static SharedPointer kept;  // counted once more than others do: stays
  reinterpret_cast<Instance>(g_shapes.originals[kInstance])(&kept, &name);
  g_shapes.cpu_profiler = kept.object;
  return kept.object == nullptr ? "profiler of the CPU" : nullptr;
}

size_t Store(const ImportQuery& query, void* const* ours) {
  ImportEntry entries[kMaxEntries];
  const size_t count = FindImports(query, entries, kMaxEntries);
  size_t stored = 0;
  for (size_t i = 0; i < count; i++) {
    void* function = ours[entries[i].symbol];
    if (*entries[i].slot == function || StoreImport(entries[i], function)) stored++;
  }
  return stored;
}

// Entries of the table of the CPU's profiler, which must be changed before anybody asks it.
size_t Replace() {
  if (g_shapes.cpu_profiler == nullptr) return 0;
  void* const wants[] = {reinterpret_cast<void*>(OnWantsShapes)};
  if (Store({kOfCpu, nullptr, &kWantsShapes, 1, true}, wants) == 0) return 0;
  return Store({kAsking, nullptr, kSymbols, kFunctionCount, false}, g_shapes.ours);
}

}  // namespace

bool InputShapesInit(SelfTestReport* report) {
  const char* missing = FindOriginals();
  if (missing != nullptr) {
    report->Add("shapes of operators", false, missing);
    return false;
  }
  g_shapes.ours[kInstance] = reinterpret_cast<void*>(OnInstance);
  g_shapes.ours[kRecordShapes] = reinterpret_cast<void*>(OnRecordShapes);
  const size_t replaced = Replace();
  char detail[160];
  std::snprintf(detail, sizeof(detail), "%zu import-table entries", replaced);
  report->Add("shapes of operators", replaced > 0, replaced > 0 ? detail : kWantsShapes);
  return replaced > 0;
}

void InputShapesFollow() { Replace(); }

}  // namespace sonde::adapt
