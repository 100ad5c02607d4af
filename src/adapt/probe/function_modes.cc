// The part of ApiCalls that keeps our calls from the program's own TorchFunctionModes.
#include "adapt/probe/api_calls.h"

namespace sonde::adapt {
namespace {

thread_local PyObject* t_hidden = nullptr;  // modes that this thread has taken away

}  // namespace

void ApiCalls::HideModes() {
  if (callbacks_.count_modes == nullptr || t_hidden != nullptr) return;
  const PyOwned count(*python_, python_->call(callbacks_.count_modes, nullptr));
  if (count && python_->long_as_u64(count.get()) > 0) {
    t_hidden = python_->call(callbacks_.hide_modes, nullptr);
  }
  if (python_->error_occurred() != nullptr) python_->error_clear();
}

void ApiCalls::ShowModes() {
  if (t_hidden == nullptr) return;
  // An exception of the program may be on its way.
  PyObject* error[3] = {};
  python_->error_fetch(&error[0], &error[1], &error[2]);
  const PyOwned hidden(*python_, t_hidden);
  t_hidden = nullptr;
  const PyOwned answer(*python_, python_->call(callbacks_.show_modes, hidden.get(), nullptr));
  if (!answer) python_->error_clear();
  python_->error_restore(error[0], error[1], error[2]);
}

}  // namespace sonde::adapt
