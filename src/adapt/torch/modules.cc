#include "adapt/torch/modules.h"

#include <time.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

#include "adapt/torch/module_table.h"
#include "adapt/torch/module_walks.h"
#include "capture/args.h"
#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

using capture::RecordKind;

constexpr uint64_t kModuleKinds = uint64_t{1} << static_cast<int>(RecordKind::kModule);
constexpr size_t kOffsetFlag = size_t{1} << 63;  // PY_VECTORCALL_ARGUMENTS_OFFSET

// CPython counts the versions of a class, 1000 at most (since 3.13): after that no look-up in it,
// or in its subclasses, is ever cached again. A session that sets and restores an attribute uses up
// to four.
constexpr int kMaxInstalls = 100;

struct ModuleCall {
  PyObject head;
  PyVectorcall vectorcall;
};

struct Modules {
  const PythonApi* python = nullptr;
  bool usable = false;
  PyObject* module_class = nullptr;  // torch.nn.Module
  PyObject* call = nullptr;          // our callable
  PyObject* original = nullptr;      // __call__ before that
  ModuleTable* table = nullptr;
  ModuleWalks* walks = nullptr;
  uint32_t domain = 0;
  uint32_t class_key = 0;
  bool wanted = false;     // a session records modules
  bool installed = false;  // __call__ is ours
  int installs = 0;        // how often it was made so
  int compiling = 0;       // Dynamo traces now
  int probe_calls = -1;    // >= 0: the self-test counts
};
// Process-wide by nature: there is one torch.nn.Module.
Modules g_modules;

__thread PyObject* t_root = nullptr;  // outermost module being called on this thread; borrowed

uint32_t ClassArgs(const char* class_name) {
  sonde_args_builder builder;
  sonde_args_init(&builder);
  sonde_args_text(&builder, g_modules.class_key, class_name, std::strlen(class_name));
  return sonde_args_intern(&builder);
}

// The wrapper that torch.compile makes is not part of the model: "_orig_mod.layers.0" is layers.0.
std::string WithoutWrapper(const char* path) {
  constexpr char kWrapper[] = "_orig_mod";
  constexpr size_t kLength = sizeof(kWrapper) - 1;
  std::string name = path;
  for (size_t at = name.find(kWrapper); at != std::string::npos; at = name.find(kWrapper, at)) {
    const bool begins = at == 0 || name[at - 1] == '.';
    const bool ends = at + kLength == name.size() || name[at + kLength] == '.';
    if (!begins || !ends) {
      at += kLength;
    } else if (at + kLength < name.size()) {
      name.erase(at, kLength + 1);
    } else {
      name.erase(at == 0 ? 0 : at - 1);
    }
  }
  return name;
}

// Classes with a __call__ of their own (script and graph modules, models of some servers) bypass
// ours; the capture names each once.
void NoteOwnCall(const PyObject* type) {
  const PythonApi& python = *g_modules.python;
  PyObject* call = python.get_attribute(const_cast<PyObject*>(type), "__call__");
  bool own = call != nullptr && call != g_modules.call && call != g_modules.original;
  if (own) {  // the one with which `sonde run` counts steps of inference goes on to ours
    PyObject* passes_on = python.get_attribute(call, "_sonde_passes_on");
    own = passes_on == nullptr;
    python.release(passes_on);
  }
  python.error_clear();
  python.release(call);
  if (!own) return;
  char line[320];
  std::snprintf(line, sizeof(line),
                "module class %s has a __call__ of its own: calls that it does not forward to "
                "torch.nn.Module have no range",
                TypeName(type));
  sonde_report_issue(line);
}

bool Register(PyObject* module, const char* name, const char* class_name) {
  NoteOwnCall(module->type);
  return g_modules.table->Put(module, sonde_intern(name, std::strlen(name)), ClassArgs(class_name));
}

// Register(); returns whether the name is new.
bool Rename(PyObject* module, const char* name) {
  const ModuleTable::Entry* entry = g_modules.table->Find(module);
  const uint32_t before = entry != nullptr ? entry->name : 0;
  if (!Register(module, name, TypeName(module->type))) return false;
  return g_modules.table->Find(module)->name != before;
}

// Enters the root and all that its named_modules() yields; whether any got a new name. After an
// exception (a model may have another method of that name) the rest keeps its class names.
bool RegisterTree(PyObject* root) {
  const PythonApi& python = *g_modules.python;
  bool changed = Rename(root, TypeName(root->type));
  PyObject* method = python.get_attribute(root, "named_modules");
  PyObject* pairs = method != nullptr ? python.call(method, nullptr) : nullptr;
  PyObject* iterator = pairs != nullptr ? python.iterator(pairs) : nullptr;
  PyObject* pair = nullptr;
  while (iterator != nullptr && (pair = python.next(iterator)) != nullptr) {
    PyObject* path = python.tuple_get(pair, 0);
    PyObject* module = python.tuple_get(pair, 1);
    const char* text = path != nullptr ? python.utf8(path, nullptr) : nullptr;
    if (text != nullptr && module != nullptr && text[0] != '\0') {
      const std::string name = WithoutWrapper(text);
      changed |= Rename(module, name.empty() ? TypeName(module->type) : name.c_str());
    }
    python.release(pair);
  }
  python.error_clear();
  for (PyObject* object : {iterator, pairs, method}) python.release(object);
  return changed;
}

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// False: not now.
bool WalkAgain(PyObject* root) {
  const uint64_t begin_ns = NowNs();
  if (!g_modules.walks->MayWalk(root, begin_ns)) return false;
  const bool found_any = RegisterTree(root);
  g_modules.walks->Walked(root, begin_ns, NowNs(), found_any);
  return true;
}

// A module met for the first time. Called before the module's own code, with no exception set.
[[gnu::noinline]] const ModuleTable::Entry* Meet(PyObject* module) {
  bool walked = true;
  if (t_root == nullptr) {
    RegisterTree(module);
  } else {
    walked = WalkAgain(t_root);  // perhaps it was added since the model was first called
  }
  const ModuleTable::Entry* entry = g_modules.table->Find(module);
  if (entry != nullptr) return entry;
  Register(module, TypeName(module->type), TypeName(module->type));
  if (!walked) g_modules.walks->NoteUnnamed(t_root);
  return g_modules.table->Find(module);
}

// Before a call of the root: modules that were met while its walks paused.
[[gnu::noinline]] const ModuleTable::Entry* NameLate(PyObject* root) {
  if (g_modules.walks->HasUnnamed(root)) WalkAgain(root);
  return g_modules.table->Find(root);
}

PyObject* CallOriginal(PyObject* const* args, size_t count_flags, PyObject* names) {
  PyObject* original = g_modules.original;
  return VectorcallOf(original)(original, args, count_flags, names);
}

PyObject* OnCall(PyObject*, PyObject* const* args, size_t count_flags, PyObject* names) {
  const uint32_t word = record::SessionWord();
  if (!g_modules.wanted || word == 0 || (count_flags & ~kOffsetFlag) == 0) [[unlikely]] {
    if (g_modules.probe_calls >= 0) g_modules.probe_calls++;
    return CallOriginal(args, count_flags, names);
  }
  PyObject* module = args[0];
  const ModuleTable::Entry* entry = g_modules.table->Find(module);
  if (entry == nullptr) [[unlikely]]
    entry = Meet(module);
  const bool root = t_root == nullptr;
  if (root) {
    if (g_modules.walks->AnyUnnamed()) [[unlikely]]
      entry = NameLate(module);
    t_root = module;
  }
  const bool pushed =
      entry != nullptr && record::PushOpen(word, RecordKind::kModule, g_modules.domain, entry->name,
                                           entry->args, 0, -1);
  PyObject* result = CallOriginal(args, count_flags, names);
  if (pushed) record::PopOpen(word, kModuleKinds);
  if (root) t_root = nullptr;
  return result;
}

// Access through an instance binds, as for a Python function.
PyObject* OnGet(PyObject* self, PyObject* instance, PyObject*) {
  if (instance != nullptr) return g_modules.python->method_new(self, instance);
  g_modules.python->retain(self);
  return self;
}

// __name__, __doc__, __wrapped__ and the like are those of the original.
PyObject* OnAttribute(PyObject* self, PyObject* name) {
  const PythonApi& python = *g_modules.python;
  const char* text = python.utf8(name, nullptr);
  if (text == nullptr) return nullptr;
  if (std::strcmp(text, "__class__") == 0) return python.generic_get_attribute(self, name);
  return python.get_attribute_object(g_modules.original, name);
}

PyMember g_members[] = {{"__vectorcalloffset__", 19, offsetof(ModuleCall, vectorcall), 1, nullptr},
                        {nullptr, 0, 0, 0, nullptr}};

PyObject* MakeCallable(const PythonApi& python) {
  PyTypeSlot slots[] = {{50, reinterpret_cast<void*>(python.vectorcall_call)},  // tp_call
                        {54, reinterpret_cast<void*>(OnGet)},                   // tp_descr_get
                        {58, reinterpret_cast<void*>(OnAttribute)},             // tp_getattro
                        {72, g_members},                                        // tp_members
                        {0, nullptr}};
  // HAVE_VECTORCALL, METHOD_DESCRIPTOR (called unbound through an instance), HAVE_VERSION_TAG.
  constexpr unsigned int kFlags = (1u << 11) | (1u << 17) | (1u << 18);
  PyTypeSpec spec = {"sonde.ModuleCall", sizeof(ModuleCall), 0, kFlags, slots};
  PyObject* type = python.type_from_spec(&spec);
  if (type == nullptr) return nullptr;
  PyObject* object = python.generic_alloc(type, 0);
  python.release(type);
  if (object != nullptr) reinterpret_cast<ModuleCall*>(object)->vectorcall = OnCall;
  return object;
}

void Install() {
  const PythonApi& python = *g_modules.python;
  if (g_modules.installed || g_modules.compiling > 0) return;
  PyObject* current = python.get_attribute(g_modules.module_class, "__call__");
  if (current == g_modules.call) {  // restored by code that had saved it
    python.release(current);
    g_modules.installed = true;
    return;
  }
  if (current == nullptr || VectorcallOf(current) == nullptr) {
    python.error_clear();
    python.release(current);
    return;
  }
  python.release(g_modules.original);
  g_modules.original = current;
  g_modules.installed =
      python.set_attribute(g_modules.module_class, "__call__", g_modules.call) == 0;
  if (!g_modules.installed) python.error_clear();
  g_modules.installs++;
}

// Leaves __call__ alone where another package has wrapped it since; ours then forwards calls.
void Uninstall() {
  const PythonApi& python = *g_modules.python;
  if (!g_modules.installed) return;
  PyObject* current = python.get_attribute(g_modules.module_class, "__call__");
  if (current == g_modules.call) {
    python.set_attribute(g_modules.module_class, "__call__", g_modules.original);
  }
  python.error_clear();
  python.release(current);
  g_modules.installed = false;
}

PyObject* None() {
  static PyObject* none = nullptr;
  const PythonApi& python = *g_modules.python;
  if (none == nullptr) {
    PyObject* builtins = python.import_module("builtins");
    none = python.get_attribute(builtins, "None");
    python.release(builtins);
  }
  python.retain(none);
  return none;
}

PyObject* OnCompileStart(PyObject*, PyObject*) {
  if (g_modules.compiling++ == 0) Uninstall();
  return None();
}

PyObject* OnCompileEnd(PyObject*, PyObject*) {
  if (g_modules.compiling > 0) g_modules.compiling--;
  if (g_modules.compiling == 0 && g_modules.wanted) Install();
  return None();
}

PyObject* PyInstall(PyObject*, PyObject*) {
  Install();
  return None();
}

PyObject* PyUninstall(PyObject*, PyObject*) {
  Uninstall();
  return None();
}

PyMethod g_compile_start = {"compile_start", OnCompileStart, kPyMethodVarargs, nullptr};
PyMethod g_compile_end = {"compile_end", OnCompileEnd, kPyMethodVarargs, nullptr};
PyMethod g_install = {"install", PyInstall, kPyMethodVarargs, nullptr};
PyMethod g_uninstall = {"uninstall", PyUninstall, kPyMethodVarargs, nullptr};

// Ties compile_start and compile_end to Dynamo when it is, or gets, imported; then tries the
// callable on a module of its own. torch._dynamo is not imported here: it takes seconds.
constexpr char kProgram[] = R"py(
import sys
import torch

def follow(handler):
    def add():
        handler.start_callbacks.append(compile_start)
        handler.end_callbacks.append(compile_end)
    original_clear = handler.clear
    def clear():
        try:
            original_clear()
        finally:
            add()
    handler.clear = clear
    add()

class Finder:
    name = "torch._dynamo.callback"

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != cls.name:
            return None
        sys.meta_path.remove(cls)
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            follow(module.callback_handler)
        spec.loader.exec_module = exec_module
        return spec

loaded = sys.modules.get(Finder.name)
if loaded is not None:
    follow(loaded.callback_handler)
else:
    sys.meta_path.insert(0, Finder)

class Probe(torch.nn.Module):
    def forward(self, x, *rest, scale=1):
        if x is None:
            raise KeyError("probe")
        return (x, rest, scale)

probe = Probe()
before = torch.nn.Module.__call__
install()
try:
    passed = probe(3) == (3, (), 1) and probe(1, 2, scale=5) == (1, (2,), 5)
    passed = passed and probe.__call__(4) == (4, (), 1)
    passed = passed and torch.nn.Module.__call__(probe, 6, scale=7) == (6, (), 7)
    passed = passed and torch.nn.Module.__call__.__name__ == before.__name__
    try:
        probe(None)
        passed = False
    except KeyError:
        pass
finally:
    uninstall()
passed = int(passed and torch.nn.Module.__call__ is before)
)py";

bool RunProbe(const PythonApi& python) {
  struct Given {
    const char* name;
    PyMethod* method;
  };
  constexpr size_t kCount = 4;
  const Given given[kCount] = {{"compile_start", &g_compile_start},
                               {"compile_end", &g_compile_end},
                               {"install", &g_install},
                               {"uninstall", &g_uninstall}};
  NamedObject objects[kCount];
  for (size_t i = 0; i < kCount; i++) {
    objects[i] = {given[i].name, python.function_new(given[i].method, nullptr, nullptr)};
  }
  uint64_t passed = 0;
  g_modules.probe_calls = 0;
  const bool ran = RunProgram(python, kProgram, objects, kCount, "passed", &passed);
  const int calls = g_modules.probe_calls;
  g_modules.probe_calls = -1;
  for (const NamedObject& object : objects) python.release(object.object);
  return ran && passed == 1 && calls == 5;
}

}  // namespace

bool ModulesInit(const PythonApi* python, SelfTestReport* report) {
  g_modules.python = python;
  PyObject* nn = python->import_module("torch.nn");
  g_modules.module_class = nn != nullptr ? python->get_attribute(nn, "Module") : nullptr;
  python->release(nn);
  g_modules.call = MakeCallable(*python);
  python->error_clear();
  if (g_modules.module_class != nullptr && g_modules.call != nullptr && !python->free_threaded) {
    g_modules.usable = RunProbe(*python);
  }
  report->Add("module calls", g_modules.usable,
              g_modules.usable ? "" : "not interceptable; module ranges are not recorded");
  return g_modules.usable;
}

namespace {

void MakeTable() {
  if (g_modules.table != nullptr) return;
  g_modules.table = new ModuleTable(g_modules.python);
  g_modules.walks = new ModuleWalks(g_modules.python);
  g_modules.domain = sonde_domain_create("Module");
  g_modules.class_key =
      sonde_intern(capture::kKeyModuleClass, sizeof(capture::kKeyModuleClass) - 1);
}

}  // namespace

void ModulesStart() {
  if (!g_modules.usable) return;
  const GilScope gil(*g_modules.python);
  if (!gil.held()) return;
  MakeTable();
  g_modules.wanted = true;
  Install();
}

void ModulesStop() {
  if (!g_modules.wanted) return;
  g_modules.wanted = false;
  const GilScope gil(*g_modules.python);
  if (gil.held() && g_modules.installs < kMaxInstalls) Uninstall();
}

bool ModulesRegister(PyObject* module, const char* name, const char* class_name) {
  if (!g_modules.usable) return false;
  MakeTable();
  return Register(module, name, class_name != nullptr ? class_name : TypeName(module->type));
}

}  // namespace sonde::adapt
