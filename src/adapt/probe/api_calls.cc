#include "adapt/probe/api_calls.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "adapt/probe/api_wrapper.h"
#include "adapt/probe/nesting.h"
#include "adapt/probe/python_method.h"
#include "base/strings.h"

namespace sonde::adapt {

struct BackwardCall {
  std::string name;
  const Api* api;
};

namespace {

constexpr const char* kBackwardName = "sonde.probe.backward";

BackwardCall* BackwardOf(PyObject* capsule) {
  return static_cast<BackwardCall*>(TheApiCalls().python().capsule_get(capsule, kBackwardName));
}

void DestroyBackward(PyObject* capsule) { delete BackwardOf(capsule); }

PyObject* OnBackward(PyObject* self, PyObject* const* args, intptr_t count) {
  ApiCalls& calls = TheApiCalls();
  if (count == 2) return calls.Backward(*BackwardOf(self), args[0], args[1]);
  calls.python().raise(calls.python().runtime_error, "a hook of a node takes two arguments");
  return nullptr;
}

PyMethod g_on_backward = Method("on_backward", &OnBackward);

}  // namespace

// The arguments of a call as Python's functions get them; made only for these.
struct ApiCalls::Arguments {
  PyObject* tuple = nullptr;
  PyObject* dict = nullptr;
};

ApiCalls& TheApiCalls() {
  static ApiCalls* const calls = new ApiCalls;  // threads may call until the process is gone
  return *calls;
}

bool ApiCalls::Init(const PythonCalls* calls, const ApiCallbacks& callbacks) {
  callbacks_ = callbacks;
  name_requires_grad_ = calls->intern("requires_grad");
  name_grad_fn_ = calls->intern("grad_fn");
  name_register_hook_ = calls->intern("register_hook");
  return Prepare(calls);
}

bool ApiCalls::Prepare(const PythonCalls* calls) {
  python_ = calls;
  if (function_type_ == nullptr) function_type_ = MakeWrapperType(*calls, false);
  if (method_type_ == nullptr) method_type_ = MakeWrapperType(*calls, true);
  return function_type_ != nullptr && method_type_ != nullptr;
}

size_t ApiCalls::Add(Api api) {
  apis_.push_back(std::move(api));
  return apis_.size() - 1;
}

PyObject* ApiCalls::Wrap(size_t index, PyObject* original) {
  const PyOwned binding(*python_, python_->get_attribute(original->type, "__get__"));
  python_->error_clear();
  PyObject* const type = binding ? method_type_ : function_type_;
  return WrapperOf(*python_, type, original, &apis_[index]);
}

PyObject* ApiCalls::WrapOutermost(PyObject* original, PyObject* begin) {
  return OutermostOf(*python_, method_type_, original, begin);
}

void ApiCalls::Use(Recorder* recorder, uint64_t flags, bool is_general, bool places_unwanted) {
  recorder_ = recorder;
  flags_ = flags;
  watches_backward_ = (flags & kNoBackward) == 0;
  is_general_ = is_general;
  places_unwanted_ = places_unwanted;
}

void ApiCalls::Forget(const Recorder* recorder) {
  if (recorder_ != recorder) return;
  recorder_ = nullptr;
  is_on_ = false;
}

void ApiCalls::Switch(bool on, uint64_t idle_limit) {
  const bool goes_on_idle = !on && !is_on_ && idle_left_ != 0 && idle_limit != 0;
  is_on_ = on && recorder_ != nullptr;
  if (!goes_on_idle) idle_left_ = idle_limit;
}

void ApiCalls::ResetCounts() {
  for (Api& api : apis_) api.count = 0;
  ForgetNesting();
}

bool ApiCalls::Settle(bool is_done) const {
  if (is_done && python_->error_occurred() == nullptr) return true;
  if (python_->error_matches(python_->exception) == 0) return false;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  python_->error_fetch(&type, &value, &trace);
  python_->error_normalize(&type, &value, &trace);
  if (value != nullptr && trace != nullptr) python_->set_traceback(value, trace);
  const PyOwned answer(*python_, python_->call(callbacks_.failed, value, nullptr));
  for (PyObject* object : {type, value, trace}) python_->release(object);
  if (!answer) python_->error_clear();
  return true;
}

void ApiCalls::CountIdle(const Api& api) {
  idle_left_ -= std::min(idle_left_, api.idle_cost);
  if (idle_left_ != 0) return;
  const PyOwned answer(*python_, python_->call(callbacks_.idle, nullptr));
  Settle(static_cast<bool>(answer));
}

PyObject* ApiCalls::Call(ApiCall& call, PyObject* const* args, size_t count_flags,
                         PyObject* names) {
  if (!is_on_) [[likely]] {
    if (idle_left_ != 0) [[unlikely]]
      CountIdle(*call.api);
    return CallOriginal(*python_, call, args, count_flags, names);
  }
  const Nesting& nesting = ThisNesting();
  if (nesting.is_busy || nesting.depth > 0) {
    return CallOriginal(*python_, call, args, count_flags, names);
  }
  const CallArguments arguments = {
      .values = args, .count = count_flags & ~kOffsetFlag, .names = names};
  return Record(call, arguments, count_flags);
}

bool ApiCalls::IsRefused(const Api& api, PyObject* names) const {
  const intptr_t count = names != nullptr ? python_->tuple_size(names) : 0;
  for (intptr_t i = 0; i < count; i++) {
    std::string_view name;
    if (!TextOf(*python_, python_->tuple_get(names, i), &name) || name != "self") continue;
    const PyOwned text(*python_, python_->unicode(api.name.c_str()));
    const PyOwned answer(*python_, python_->call(callbacks_.refused, text.get(), nullptr));
    Settle(static_cast<bool>(answer));
    return true;
  }
  return false;
}

PyObject* ApiCalls::Record(const ApiCall& call, const CallArguments& arguments,
                           size_t count_flags) {
  Api& api = *call.api;
  Nesting& nesting = ThisNesting();
  const auto call_original = [&] {
    return CallOriginal(*python_, call, arguments.values, count_flags, arguments.names);
  };
  if (IsRefused(api, arguments.names)) return call_original();
  if ((flags_ & kOnlyNan) != 0) return Watch(call, arguments, count_flags);
  // Counted before the call, during which other threads may run.
  const uint64_t number = api.count++;
  base::NumberBuffer buffer;
  const std::string name =
      base::Concat(api.name, ".", base::FormatUint64(number, buffer), ".forward");
  Arguments kept;
  bool goes_on = Before(api, name, arguments, &kept);
  const PyOwned tuple(*python_, kept.tuple);
  const PyOwned dict(*python_, kept.dict);
  if (!goes_on) return nullptr;
  nesting.depth = 1;
  PyObject* const result = call_original();
  nesting.depth = 0;
  if (!is_on_ && api.count == number + 1) api.count = number;  // switched off meanwhile
  if (result == nullptr) {
    PyObject* error[3] = {};
    python_->error_fetch(&error[0], &error[1], &error[2]);
    if (recorder_ != nullptr) recorder_->Finish(name);
    python_->error_restore(error[0], error[1], error[2]);
    return nullptr;
  }
  if (!is_on_) return result;
  goes_on = After(api, name, arguments, kept, result);
  if (goes_on) return result;
  python_->release(result);
  return nullptr;
}

bool ApiCalls::Before(const Api& api, const std::string& name, const CallArguments& arguments,
                      Arguments* kept) {
  const Work work(*this, ThisNesting());
  if (!is_general_ && !api.is_special) {
    return !api.is_wanted || Settle(recorder_->AddInputs(name, arguments, flags_));
  }
  PyObject* const* keywords = arguments.values + arguments.count;
  kept->tuple = ArgumentTuple(*python_, arguments.values, arguments.count);
  kept->dict = ArgumentDict(*python_, arguments.names, keywords);
  const PyOwned text(*python_, python_->unicode(name.c_str()));
  if (kept->tuple == nullptr || kept->dict == nullptr || !text) return false;
  if (!api.is_wanted) return true;
  const PyOwned answer(*python_, python_->call(callbacks_.before, api.python, text.get(),
                                               kept->tuple, kept->dict, nullptr));
  return Settle(static_cast<bool>(answer));
}

bool ApiCalls::After(const Api& api, const std::string& name, const CallArguments& arguments,
                     const Arguments& kept, PyObject* result) {
  const Work work(*this, ThisNesting());
  const bool has_backward = api.is_wanted || places_unwanted_;
  if (has_backward && !(api.is_dropout && DropsNothing(arguments))) {
    if (!Settle(WatchBackward(api, name, result))) return false;
  }
  if (recorder_ == nullptr) return true;
  if (!api.is_wanted) {
    recorder_->Place(name);
    return true;
  }
  if (kept.tuple == nullptr) return Settle(AddOutputs(name, result));
  const PyOwned text(*python_, python_->unicode(name.c_str()));
  const PyOwned answer(*python_, python_->call(callbacks_.after, api.python, text.get(), kept.tuple,
                                               kept.dict, result, nullptr));
  return Settle(static_cast<bool>(answer));
}

bool ApiCalls::AddOutputs(const std::string& name, PyObject* result) {
  const uint64_t flags = (flags_ & ~kWithStack) | kFinish | kPlace;
  if (IsInstance(result, kTupleFlag))
    return recorder_->Add(name, "output", "output", result, flags);
  return recorder_->AddValues(name, "output", "output", {&result, 1, nullptr}, flags);
}

bool ApiCalls::IsInstance(const PyObject* value, unsigned int type_flag) const {
  return (python_->type_flags(value->type) & type_flag) != 0;
}

// The probability is the second argument.
bool ApiCalls::DropsNothing(const CallArguments& arguments) const {
  PyObject* probability = arguments.count > 1 ? arguments.values[1] : nullptr;
  const intptr_t names = probability == nullptr && arguments.names != nullptr
                             ? python_->tuple_size(arguments.names)
                             : 0;
  for (intptr_t i = 0; i < names; i++) {
    std::string_view name;
    if (TextOf(*python_, python_->tuple_get(arguments.names, i), &name) && name == "p") {
      probability = arguments.values[arguments.count + static_cast<size_t>(i)];
    }
  }
  if (probability == nullptr) return false;
  const double value = python_->float_as_double(probability);
  if (python_->error_occurred() != nullptr) python_->error_clear();
  return value == 0;
}

// Borrowed: the first of the first of the first, or the first tensor of a dict; nullptr for none.
PyObject* ApiCalls::FirstTensor(PyObject* value) const {
  const auto is_tensor = [this](PyObject* object) {
    return (recorder_ != nullptr && recorder_->reader().IsPlainTensor(object)) ||
           python_->is_instance(object, callbacks_.tensor_class) == 1;
  };
  while (!is_tensor(value)) {
    const bool is_tuple = IsInstance(value, kTupleFlag);
    if (is_tuple || IsInstance(value, kListFlag)) {
      const intptr_t size = is_tuple ? python_->tuple_size(value) : python_->list_size(value);
      if (size == 0) return nullptr;
      value = is_tuple ? python_->tuple_get(value, 0) : python_->list_get(value, 0);
      continue;
    }
    if (!IsInstance(value, kDictFlag)) return nullptr;
    const PyOwned items(*python_, python_->dict_items(value));
    for (intptr_t i = 0; items && i < python_->list_size(items.get()); i++) {
      PyObject* const item = python_->tuple_get(python_->list_get(items.get(), i), 1);
      if (is_tensor(item)) return item;  // the dict keeps it
    }
    return nullptr;
  }
  return value;
}

bool ApiCalls::WatchBackward(const Api& api, const std::string& name, PyObject* result) {
  PyObject* const tensor = FirstTensor(result);
  if (tensor == nullptr) return true;
  const PyOwned requires_grad(*python_, python_->get_attribute_object(tensor, name_requires_grad_));
  if (!requires_grad) return false;
  if (requires_grad.get() != python_->true_object) return true;
  const PyOwned enabled(*python_, python_->call(callbacks_.is_grad_enabled, nullptr));
  if (!enabled) return false;
  if (enabled.get() != python_->true_object) return true;
  const PyOwned node(*python_, python_->get_attribute_object(tensor, name_grad_fn_));
  if (!node || node.get() == python_->none) return static_cast<bool>(node);
  constexpr size_t kDirection = std::string_view("forward").size();
  auto call = std::make_unique<BackwardCall>(
      BackwardCall{name.substr(0, name.size() - kDirection) + "backward", &api});
  const PyOwned capsule(*python_,
                        python_->capsule_new(call.release(), kBackwardName, &DestroyBackward));
  const PyOwned hook(*python_, python_->function_new(&g_on_backward, capsule.get(), nullptr));
  if (!hook) return false;
  const PyOwned handle(*python_,
                       python_->call_method(node.get(), name_register_hook_, hook.get(), nullptr));
  return static_cast<bool>(handle);
}

PyObject* ApiCalls::Backward(const BackwardCall& call, PyObject* to_inputs, PyObject* to_outputs) {
  Nesting& nesting = ThisNesting();
  const auto none = [this] {
    python_->retain(python_->none);
    return python_->none;
  };
  if (nesting.is_busy || recorder_ == nullptr) return none();
  const Work work(*this, nesting);
  bool is_done = true;
  if ((flags_ & kOnlyNan) != 0 && !HasNan(to_inputs)) {
    is_done = python_->error_occurred() == nullptr;
  } else if (!call.api->is_wanted) {
    recorder_->Place(call.name);
  } else if (is_general_ || call.api->is_special) {
    const PyOwned text(*python_, python_->unicode(call.name.c_str()));
    const PyOwned answer(*python_, python_->call(callbacks_.backward, call.api->python, text.get(),
                                                 to_outputs, to_inputs, nullptr));
    is_done = static_cast<bool>(answer);
  } else {
    is_done =
        recorder_->AddGradients(call.name, to_outputs, to_inputs, (flags_ & ~kWithStack) | kPlace);
  }
  return Settle(is_done) ? none() : nullptr;
}

}  // namespace sonde::adapt
