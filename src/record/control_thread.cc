#include "record/control_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <new>

#include "record/control_actions.h"
#include "record/error.h"
#include "record/file.h"
#include "record/recorder.h"

namespace sonde::record {
namespace {

constexpr int kLookMs = 500;  // at the control file, and at connections that are too slow
constexpr size_t kMaxAnswer = 64 * 1024;  // of a route, its end included

}  // namespace

ControlThread::ControlThread(Recorder* recorder)
    : server_([this](const HttpRequest& request) { return Answer(request); }),
      dynamic_(recorder),
      recorder_(recorder) {}

int ControlThread::Listen(const std::string& address, const SessionConfig& defaults) {
  const std::lock_guard lock(mutex_);
  if (server_.listening()) {
    return Fail(EALREADY, "the control address is %s already", server_.address().c_str());
  }
  EndThread();
  defaults_ = defaults;
  const int result = server_.Listen(address);
  const int started = StartThread();
  return result != 0 ? result : started;
}

int ControlThread::Watch(const std::string& folder, const SessionConfig& defaults) {
  const std::lock_guard lock(mutex_);
  const int result = dynamic_.Watch(folder, defaults);
  if (result != 0) return result;
  EndThread();
  return StartThread();
}

std::string ControlThread::Address() {
  const std::lock_guard lock(mutex_);
  return server_.address();
}

void ControlThread::SetRoute(const std::string& path, Route route) {
  const std::lock_guard lock(routes_mutex_);
  if (route.function == nullptr) {
    routes_.erase(path);
  } else {
    routes_[path] = route;
  }
}

HttpResponse ControlThread::Answer(const HttpRequest& request) {
  Route route;
  {
    const std::lock_guard lock(routes_mutex_);
    const auto found = routes_.find(request.path);
    if (found != routes_.end()) route = found->second;
  }
  if (route.function == nullptr) return HandleControlRequest(request, defaults_, recorder_);
  if (request.method != "POST") return HttpError(405, "use POST " + request.path);
  std::string answer(kMaxAnswer, '\0');
  const int status = route.function(request.body.c_str(), answer.data(), answer.size(), route.user);
  answer.resize(strnlen(answer.data(), kMaxAnswer));
  return {status, answer};
}

void ControlThread::Close() {
  const std::lock_guard lock(mutex_);
  EndThread();
  server_.Close();
  dynamic_.Unwatch();
}

void ControlThread::CloseAtExit() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !running_) return;
  end_.store(true);
  WakeThread();
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 1;
  if (pthread_timedjoin_np(thread_, nullptr, &deadline) == 0) server_.Close();
}

int ControlThread::StartThread() {
  if (!server_.listening() && !dynamic_.watching()) return 0;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return Fail(errno, "cannot make an event descriptor");
  wake_identity_ = DescriptorIdentity(wake_fd_);
  end_.store(false);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, &ControlThread::Main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    CloseFile(&wake_fd_);
    return Fail(error, "cannot start the control thread: %s", ErrorText(error));
  }
  pthread_setname_np(thread_, "sonde-control");
  running_ = true;
  return 0;
}

void ControlThread::EndThread() {
  if (!running_) return;
  end_.store(true);
  WakeThread();
  pthread_join(thread_, nullptr);
  if (wake_identity_.Holds(wake_fd_)) CloseFile(&wake_fd_);
  wake_fd_ = -1;
  running_ = false;
}

void ControlThread::WakeThread() {
  if (!wake_identity_.Holds(wake_fd_)) return;  // the program closed it: the thread polls
  const uint64_t one = 1;
  // Can only fail when the thread has been woken already.
  [[maybe_unused]] const ssize_t ignored = write(wake_fd_, &one, sizeof(one));
}

void* ControlThread::Main(void* self) {
  static_cast<ControlThread*>(self)->Loop();
  return nullptr;
}

void ControlThread::Loop() {
  std::vector<pollfd> polls;
  while (!end_.load()) {
    server_.ForgetClosed();
    // A negative one is passed over; one that was closed would be ready for ever.
    polls.assign(1, {wake_identity_.Holds(wake_fd_) ? wake_fd_ : -1, POLLIN, 0});
    server_.AddPolls(&polls);
    poll(polls.data(), polls.size(), kLookMs);
    dynamic_.Poll();
    server_.Serve(polls);
  }
}

void ControlThread::DropInChild() {
  // Another thread of the parent may have held the locks.
  new (&mutex_) std::mutex;
  new (&routes_mutex_) std::mutex;
  server_.AbandonInChild();
  if (wake_identity_.Holds(wake_fd_)) CloseFile(&wake_fd_);
  wake_fd_ = -1;
  running_ = false;
}

}  // namespace sonde::record
