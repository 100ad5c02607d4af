// Whether there is anything to show of what the user named.
#include <algorithm>
#include <chrono>
#include <utility>

#include "serve/session.h"

namespace sonde::serve {

void Session::NoteFailure(const Status& failure) {
  Update([&] {
    message_.notes.emplace_back(failure.message());
    if (failure_.ok()) failure_ = failure;
  });
}

bool Session::HasSomething() const {
  return !maps_.empty() ||
         std::ranges::any_of(slots_, [](const auto& slot) { return slot->trace != nullptr; });
}

// All paths of the user were looked at, and their traces read.
void Session::NoteNothing() {
  std::function<void()> end;
  Update([&] {
    if (stopped_ || HasSomething()) return;
    why_nothing_ = failure_;
    for (const TraceMessage& trace : message_.traces) {
      if (!why_nothing_.ok() || trace.state != "failed") continue;
      why_nothing_ = base::CorruptDataError(trace.message);
    }
    if (!why_nothing_.ok()) end = std::exchange(end_, {});
  });
  if (end) end();
}

Status Session::WhyNothing() const {
  const std::scoped_lock lock(mutex_);
  return why_nothing_;
}

Status Session::WaitForSomething(std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [this] {
    return stopped_ || !message_.loading || !why_nothing_.ok() || HasSomething();
  });
  return why_nothing_;
}

void Session::WhenNothing(std::function<void()> end) {
  {
    const std::scoped_lock lock(mutex_);
    if (why_nothing_.ok()) {
      end_ = std::move(end);
      return;
    }
  }
  end();
}

}  // namespace sonde::serve
