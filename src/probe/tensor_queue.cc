#include "probe/tensor_queue.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "probe/copy_visitor.h"
#include "probe/tensor_file.h"

namespace sonde::probe {
TensorQueue::~TensorQueue() {
  if (!shared_) return;
  if (!IsParent()) {
    [[maybe_unused]] const Shared* const left_as_it_is = shared_.release();
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ends = true;
  }
  shared_->changed.notify_all();
  shared_->thread.join();
}

bool TensorQueue::IsParent() const { return process_ == getpid(); }

TensorQueue::Item TensorQueue::Copy(std::string path, const TensorView& view,
                                    std::string_view dtype) {
  Item item;
  item.path = std::move(path);
  item.dtype = dtype;
  item.shape.assign(view.shape.begin(), view.shape.end());
  item.strides.resize(item.shape.size());
  int64_t stride = 1;
  for (size_t dim = item.shape.size(); dim-- > 0;) {
    item.strides[dim] = stride;
    stride *= std::max<int64_t>(item.shape[dim], 1);
  }
  item.bytes = view.Count() * view.element_bytes;
  item.elements = std::make_unique_for_overwrite<std::byte[]>(item.bytes);
  CopyVisitor visitor(item.elements.get(), view.element_bytes);
  VisitInOrder(view, visitor);
  item.view = {.data = item.elements.get(),
               .type = view.type,
               .element_bytes = view.element_bytes,
               .shape = item.shape,
               .strides = item.strides};
  return item;
}

void TensorQueue::Add(std::string path, const TensorView& view, std::string_view dtype) {
  if (!shared_) {
    process_ = getpid();
    shared_ = std::make_unique<Shared>();
    shared_->thread = std::thread(&TensorQueue::Run, std::ref(*shared_));
  }
  if (!IsParent()) return;
  const uint64_t bytes = view.Count() * view.element_bytes;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(
        lock, [&] { return shared_->items.empty() || shared_->bytes + bytes <= limit_bytes_; });
    shared_->bytes += bytes;  // no other thread adds: the copy is made without the lock
    longest_bytes_ = std::max(longest_bytes_, shared_->bytes);
  }
  Item item = Copy(std::move(path), view, dtype);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->items.push_back(std::move(item));
  }
  shared_->changed.notify_all();
}

Status TensorQueue::Drain() {
  if (!shared_ || !IsParent()) return Status::Ok();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return shared_->items.empty(); });
  return std::exchange(shared_->status, Status::Ok());
}

void TensorQueue::Run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (true) {
    shared.changed.wait(lock, [&shared] { return shared.ends || !shared.items.empty(); });
    if (shared.items.empty()) return;
    Item& item = shared.items.front();  // a deque does not move it while others are added
    lock.unlock();
    Status status = WriteTensorFile(item.path, item.view, item.dtype);
    lock.lock();
    if (shared.status.ok()) shared.status = std::move(status);
    shared.bytes -= item.bytes;
    shared.items.pop_front();
    shared.changed.notify_all();
  }
}

}  // namespace sonde::probe
