#include "exporters/format/file_set.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/files.h"
#include "base/host/parallel.h"

namespace sonde::exporters {
namespace {

// Pieces are large enough to be written as they are.
constexpr base::AtomicFile::Options kUnbuffered{.buffer_bytes = size_t{32} << 10U};
// Pieces that may wait for their turn: about 20 MB.
constexpr size_t kMaxWaiting = 64;

// A file and the pieces of it that are ready too early.
struct Output {
  std::optional<base::AtomicFile> file;
  std::mutex mutex;
  std::condition_variable has_room;
  bool is_writing = false;
  size_t next_piece = 0;
  std::map<size_t, LineBuffer> waiting;
};

// Buffers are used again: fresh memory costs a page fault per 4 KiB.
class BufferPool {
 public:
  LineBuffer Take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return LineBuffer();
    LineBuffer buffer = std::move(free_.back());
    free_.pop_back();
    buffer.Clear();
    return buffer;
  }
  void Return(LineBuffer buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<LineBuffer> free_;
};

// Appends the piece, and those that waited for it, once its turn has come; a thread that finds
// another one writing leaves its piece to that and goes on. Failures are kept by the file and
// returned by its Commit().
void Deliver(Output& output, size_t piece, LineBuffer buffer, BufferPool& pool) {
  std::unique_lock lock(output.mutex);
  // Never waits with the piece that all wait for.
  output.has_room.wait(
      lock, [&] { return output.waiting.size() < kMaxWaiting || piece == output.next_piece; });
  output.waiting.emplace(piece, std::move(buffer));
  if (output.is_writing) return;
  output.is_writing = true;
  for (auto next = output.waiting.begin();
       next != output.waiting.end() && next->first == output.next_piece;
       next = output.waiting.begin()) {
    LineBuffer text = std::move(next->second);
    output.waiting.erase(next);
    ++output.next_piece;
    output.has_room.notify_all();
    lock.unlock();
    output.file->Append(text.text()).IgnoreError();
    pool.Return(std::move(text));
    lock.lock();
  }
  output.is_writing = false;
}

}  // namespace

Status FileSet::Write(int threads) {
  std::deque<Output> outputs(files_.size());
  struct Task {
    size_t file;
    size_t piece;
  };
  std::vector<Task> tasks;
  for (size_t i = 0; i < files_.size(); ++i) {
    SONDE_ASSIGN_OR_RETURN(
        auto file, base::AtomicFile::Create(base::JoinPath(folder_, files_[i].name), kUnbuffered));
    outputs[i].file.emplace(std::move(file));
    for (size_t piece = 0; piece < files_[i].pieces; ++piece) tasks.push_back({i, piece});
  }
  BufferPool pool;
  std::atomic<size_t> next_task = 0;
  const auto work = [&](size_t, size_t) {
    for (size_t i = next_task++; i < tasks.size(); i = next_task++) {
      const File& file = files_[tasks[i].file];
      LineBuffer buffer = pool.Take();
      file.piece(tasks[i].piece, buffer);
      Deliver(outputs[tasks[i].file], tasks[i].piece, std::move(buffer), pool);
    }
  };
  const int workers = threads > 0 ? threads : base::AvailableThreads();
  base::ParallelFor(static_cast<size_t>(workers), {.max_threads = workers}, work);
  Status first_error;
  for (Output& output : outputs) {
    if (Status status = output.file->Commit(); !status.ok() && first_error.ok()) {
      first_error = std::move(status);
    }
  }
  return first_error;
}

}  // namespace sonde::exporters
