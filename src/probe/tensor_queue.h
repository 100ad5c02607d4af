// Files of tensors, written by a thread of their own so that the program need not wait.
//
// Elements are copied at Add(), since the program may change them. At most `limit_bytes` wait at a
// time: a caller that would exceed that waits until enough is written (a tensor larger than the
// limit alone is taken when nothing else waits). Threads: one adds and drains. In the child of a
// fork nothing is written any more. Errors: the first failure since the last Drain() is its Status;
// later tensors are written all the same.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "probe/tensor_view.h"

namespace sonde::probe {

class TensorQueue {
 public:
  explicit TensorQueue(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  TensorQueue(const TensorQueue&) = delete;
  TensorQueue& operator=(const TensorQueue&) = delete;
  ~TensorQueue();  // writes the waiting tensors

  // `dtype` as WriteTensorFile() takes it.
  void Add(std::string path, const TensorView& view, std::string_view dtype);
  // Returns when everything is in the files.
  Status Drain();

  uint64_t longest_bytes() const { return longest_bytes_; }  // most that ever waited

 private:
  struct Item {
    std::string path;
    std::string dtype;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    TensorView view;  // of the copy
    std::unique_ptr<std::byte[]> elements;
    uint64_t bytes = 0;
  };
  // Apart, since a child of a fork must leave it as it is: a thread seems to wait there.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> items;  // the first is being written
    uint64_t bytes = 0;      // of items
    Status status;
    bool ends = false;
    std::thread thread;
  };
  static Item Copy(std::string path, const TensorView& view, std::string_view dtype);
  static void Run(Shared& shared);
  bool IsParent() const;

  const uint64_t limit_bytes_;
  uint64_t longest_bytes_ = 0;
  std::unique_ptr<Shared> shared_;  // made with the first tensor
  int process_ = 0;
};

}  // namespace sonde::probe
