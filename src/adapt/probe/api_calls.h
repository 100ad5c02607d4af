// The wrappers that replace torch's functions, and the recording of their calls.
//
// Only the outermost wrapped call of a thread is recorded; every one counts, also those that a
// filter leaves out, so that the numbers in names agree between dumps. Usual calls are recorded
// here; collectives, filters and tasks with rules of their own go through Python's before(),
// after() and backward(). While nothing is recorded a call costs one load and one branch. Threads:
// the GIL; nesting is kept per thread. Errors: exceptions of ours go to failed(), never to the
// program.
#ifndef SONDE_ADAPT_PROBE_API_CALLS_H_
#define SONDE_ADAPT_PROBE_API_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "adapt/probe/nesting.h"
#include "adapt/probe/python_calls.h"
#include "adapt/probe/recorder.h"

namespace sonde::adapt {

// Of types: instances of list, tuple, dict and of their subclasses.
inline constexpr unsigned int kListFlag = 1U << 25;
inline constexpr unsigned int kTupleFlag = 1U << 26;
inline constexpr unsigned int kDictFlag = 1U << 29;

struct ApiCall;
struct BackwardCall;

// One name of the dump.
struct Api {
  std::string name;    // "Torch.add"
  uint64_t count = 0;  // calls in this step
  bool is_wanted = true;
  bool is_special = false;  // always through Python
  bool is_dropout = false;  // has no backward where nothing is dropped
  bool is_change = false;   // writes to its first argument
  uint64_t idle_cost = 1;   // cost of a call that is not recorded
  PyObject* python = nullptr;
};

// Objects of Python that are called or compared with; they live as long as the process.
struct ApiCallbacks {
  PyObject* before = nullptr;    // (api, name, args, kwargs)
  PyObject* after = nullptr;     // (api, name, args, kwargs, result)
  PyObject* backward = nullptr;  // (api, name, gradients in, gradients out)
  PyObject* failed = nullptr;    // (exception)
  PyObject* refused = nullptr;   // (name): "self" came as a keyword
  PyObject* idle = nullptr;      // (): many calls and nothing to record
  PyObject* is_grad_enabled = nullptr;
  PyObject* has_nan = nullptr;  // (tensor) whose memory cannot be read here
  PyObject* tensor_class = nullptr;
  PyObject* before_change = nullptr;  // (name, args, kwargs) -> args as they are before the call
  // The program's own TorchFunctionModes, nullptr in a torch without: () -> how many,
  // () -> list of those that are taken away, (list)
  PyObject* count_modes = nullptr;
  PyObject* hide_modes = nullptr;
  PyObject* show_modes = nullptr;
};

class ApiCalls {
 public:
  // False: a Python exception. `calls` must live as long as the process.
  bool Prepare(const PythonCalls* calls);
  bool Init(const PythonCalls* calls, const ApiCallbacks& callbacks);

  size_t Add(Api api);
  Api& at(size_t index) { return apis_[index]; }
  // A new callable that replaces `original`, or nullptr with an exception.
  PyObject* Wrap(size_t index, PyObject* original);

  // A new callable for `original` that reports outermost calls; needs Prepare() only.
  PyObject* WrapOutermost(PyObject* original, PyObject* begin);

  // Calls are recorded by `recorder` with these flags; `is_general`: through Python.
  void Use(Recorder* recorder, uint64_t flags, bool is_general, bool places_unwanted);
  void Forget(const Recorder* recorder);
  // Whether calls are recorded. When those that are not have cost `idle_limit`, idle() is called
  // once; 0: never. Switching off again does not restart the count.
  void Switch(bool on, uint64_t idle_limit);
  void ResetCounts();

  PyObject* Call(ApiCall& call, PyObject* const* args, size_t count_flags, PyObject* names);
  // Gradients pass through the node of a call's result.
  PyObject* Backward(const BackwardCall& call, PyObject* to_inputs, PyObject* to_outputs);
  // The program's own modes do not see calls of this thread between these two.
  void HideModes();
  void ShowModes();
  // Whether a tensor of this value, a container perhaps, holds NaN. An exception may be set.
  bool HasNan(PyObject* value);
  const PythonCalls& python() const { return *python_; }

 private:
  struct Arguments;
  PyObject* Record(const ApiCall& call, const CallArguments& arguments, size_t count_flags);
  PyObject* Watch(const ApiCall& call, const CallArguments& arguments, size_t count_flags);
  // `before`: the arguments as they were, null where the call does not write to them.
  bool ReportNan(const Api& api, uint64_t number, const CallArguments& arguments, PyObject* before,
                 PyObject* result);
  PyObject* BeforeChange(const Api& api, uint64_t number, const CallArguments& arguments);
  bool IsChange(const Api& api, PyObject* names) const;
  bool ElementsHaveNan(PyObject* sequence, size_t level);
  bool ValueHasNan(PyObject* value, size_t level);
  bool Before(const Api& api, const std::string& name, const CallArguments& arguments,
              Arguments* kept);
  bool After(const Api& api, const std::string& name, const CallArguments& arguments,
             const Arguments& kept, PyObject* result);
  bool AddOutputs(const std::string& name, PyObject* result);
  bool WatchBackward(const Api& api, const std::string& name, PyObject* result);
  PyObject* FirstTensor(PyObject* value) const;
  bool IsInstance(const PyObject* value, unsigned int type_flag) const;
  bool DropsNothing(const CallArguments& arguments) const;
  bool IsRefused(const Api& api, PyObject* names) const;
  // True where the call may go on: no exception, or one of ours that was reported.
  bool Settle(bool is_done) const;
  void CountIdle(const Api& api);

  const PythonCalls* python_ = nullptr;
  ApiCallbacks callbacks_;
  PyObject* function_type_ = nullptr;
  PyObject* method_type_ = nullptr;
  PyObject* name_requires_grad_ = nullptr;
  PyObject* name_grad_fn_ = nullptr;
  PyObject* name_register_hook_ = nullptr;
  std::deque<Api> apis_;

  Recorder* recorder_ = nullptr;
  uint64_t flags_ = 0;
  bool is_general_ = true;
  bool watches_backward_ = true;  // of those that look for NaN only
  bool places_unwanted_ = false;
  bool is_on_ = false;
  uint64_t idle_left_ = 0;  // 0: not counted
};

// The probe is at work in this thread: nothing that it calls is recorded, or seen by the program.
class Work {
 public:
  Work(ApiCalls& calls, Nesting& nesting) : calls_(calls), busy_(nesting) { calls_.HideModes(); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { calls_.ShowModes(); }

 private:
  ApiCalls& calls_;
  Busy busy_;
};

// The one of the process, as there is one torch.
ApiCalls& TheApiCalls();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_API_CALLS_H_
