// The part of ApiCalls that looks for the first NaN: results are read once, and nothing else is
// done for a call unless NaN is found.
#include <string>

#include "adapt/probe/api_calls.h"
#include "adapt/probe/api_wrapper.h"
#include "adapt/probe/nesting.h"
#include "base/strings.h"
#include "probe/nan_scan.h"

namespace sonde::adapt {
namespace {

constexpr size_t kMaxLevels = 8;

std::string NameOf(const Api& api, uint64_t number) {
  base::NumberBuffer buffer;
  return base::Concat(api.name, ".", base::FormatUint64(number, buffer), ".forward");
}

}  // namespace

PyObject* ApiCalls::Watch(const ApiCall& call, const CallArguments& arguments, size_t count_flags) {
  Api& api = *call.api;
  Nesting& nesting = ThisNesting();
  const uint64_t number = api.count++;  // before other threads run
  const PyOwned before(
      *python_, IsChange(api, arguments.names) ? BeforeChange(api, number, arguments) : nullptr);
  nesting.depth = 1;
  PyObject* const result =
      CallOriginal(*python_, call, arguments.values, count_flags, arguments.names);
  nesting.depth = 0;
  if (!is_on_ && api.count == number + 1) api.count = number;  // switched off meanwhile
  if (!is_on_ || result == nullptr) return result;
  const bool goes_on =
      !api.is_wanted || Settle(ReportNan(api, number, arguments, before.get(), result));
  if (goes_on) return result;
  python_->release(result);
  return nullptr;
}

bool ApiCalls::IsChange(const Api& api, PyObject* names) const {
  if (api.is_change || names == nullptr) return api.is_change;
  for (intptr_t i = 0; i < python_->tuple_size(names); i++) {
    std::string_view name;
    if (TextOf(*python_, python_->tuple_get(names, i), &name) && name == "inplace") return true;
  }
  return false;
}

// A copy of the argument that the call will write to: it is checked only when the result has NaN.
PyObject* ApiCalls::BeforeChange(const Api& api, uint64_t number, const CallArguments& arguments) {
  const Work work(*this, ThisNesting());
  PyObject* const* keywords = arguments.values + arguments.count;
  const PyOwned tuple(*python_, ArgumentTuple(*python_, arguments.values, arguments.count));
  const PyOwned dict(*python_, ArgumentDict(*python_, arguments.names, keywords));
  const PyOwned text(*python_, python_->unicode(NameOf(api, number).c_str()));
  PyObject* const before =
      tuple && dict && text
          ? python_->call(callbacks_.before_change, text.get(), tuple.get(), dict.get(), nullptr)
          : nullptr;
  if (before == nullptr) Settle(false);
  return before;
}

bool ApiCalls::ReportNan(const Api& api, uint64_t number, const CallArguments& arguments,
                         PyObject* before, PyObject* result) {
  const Work work(*this, ThisNesting());
  // Calls that only change an argument return nothing.
  const bool is_change = result == python_->none && arguments.count > 0;
  if (api.is_special || HasNan(is_change ? arguments.values[0] : result)) {
    PyObject* const* keywords = arguments.values + arguments.count;
    if (before != nullptr) python_->retain(before);
    const PyOwned tuple(*python_, before != nullptr
                                      ? before
                                      : ArgumentTuple(*python_, arguments.values, arguments.count));
    const PyOwned dict(*python_, ArgumentDict(*python_, arguments.names, keywords));
    const PyOwned text(*python_, python_->unicode(NameOf(api, number).c_str()));
    if (!tuple || !dict || !text) return false;
    PyObject* const given = is_change && before != nullptr ? arguments.values[0] : result;
    const PyOwned answer(*python_, python_->call(callbacks_.after, api.python, text.get(),
                                                 tuple.get(), dict.get(), given, nullptr));
    if (!answer) return false;
  }
  if (python_->error_occurred() != nullptr) return false;
  return !watches_backward_ || WatchBackward(api, NameOf(api, number), result);
}

bool ApiCalls::HasNan(PyObject* value) { return recorder_ != nullptr && ValueHasNan(value, 0); }

bool ApiCalls::ElementsHaveNan(PyObject* sequence, size_t level) {
  const bool is_tuple = IsInstance(sequence, kTupleFlag);
  const auto size = [&] {
    return is_tuple ? python_->tuple_size(sequence) : python_->list_size(sequence);
  };
  for (intptr_t i = 0; i < size(); i++) {
    PyObject* const item =
        is_tuple ? python_->tuple_get(sequence, i) : python_->list_get(sequence, i);
    python_->retain(item);
    const PyOwned keeper(*python_, item);
    if (ValueHasNan(item, level)) return true;
  }
  return false;
}

bool ApiCalls::ValueHasNan(PyObject* value, size_t level) {
  if (recorder_->reader().IsPlainTensor(value)) {
    ReadTensor tensor;
    if (recorder_->reader().Read(value, &tensor)) return probe::HasNan(tensor.view);
  } else if (IsInstance(value, kTupleFlag) || IsInstance(value, kListFlag)) {
    return level < kMaxLevels && ElementsHaveNan(value, level + 1);
  } else if (IsInstance(value, kDictFlag)) {
    const PyOwned items(*python_, python_->dict_items(value));
    return items && level < kMaxLevels && ElementsHaveNan(items.get(), level + 1);
  } else if (python_->is_instance(value, callbacks_.tensor_class) != 1) {
    return false;
  }
  const PyOwned answer(*python_, python_->call(callbacks_.has_nan, value, nullptr));
  return answer.get() == python_->true_object;
}

}  // namespace sonde::adapt
