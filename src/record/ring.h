// A thread's ring buffer: a file of the capture mapped into memory (capture/format.h), so that
// records are in the page cache at once and survive any end of the process.
//
// The file begins small, and so does what is mapped of it; a thread that has filled it once gets
// the size that was asked for, by a second mapping of the whole file beside the first. Making a
// file and its pages costs some hundred microseconds, so that rings are made ahead and pass from
// threads that ended to threads that begin (ring_list.h): Create, then Begin and Rest in turn.
//
// Ownership: a Ring is used by its thread (through the RingWriter) and by the session. Each calls
// ReleaseBy... when done; the second call deletes it. Threads: as stated for each function.
#ifndef SONDE_RECORD_RING_H_
#define SONDE_RECORD_RING_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "record/capture_files.h"
#include "record/fast_path.h"
#include "record/file.h"

namespace sonde::record {

inline constexpr uint32_t kDefaultRingSlots = 64 * 1024;  // 2 MiB
inline constexpr uint32_t kFirstRingSlots = 4 * 1024;     // 128 KiB, of a ring that may grow
inline constexpr uint32_t kMinRingSlots = 64;
inline constexpr uint32_t kMaxRingSlots = 1u << 24;

class Ring {
 public:
  // A ring without a thread, on any thread. Disk blocks are allocated before they are written, so
  // that a full disk is an error here and not a signal later. Where the file cannot be made, *issue
  // gets the reason and the ring is anonymous memory, lost if the process is killed. nullptr: no
  // memory either. `number`: of the file, another one for each ring of a capture. `ended` counts
  // rings whose thread has ended, until the session has dealt with them.
  static Ring* Create(const CaptureIdentity& identity, uint32_t slots, uint32_t number,
                      std::atomic<int32_t>* ended, std::string* issue);
  // Gives it to a thread, which may record at once.
  void Begin(uint32_t thread_index, uint32_t tid, uint32_t word);
  // Takes it from a thread that is OwnerDone, when all of it is drained.
  void Rest();
  bool HasFile() const { return !path_.empty(); }

  RingWriter* writer() { return &writer_; }
  uint32_t thread_index() const { return writer_.thread_index; }

  // Called by the owner's thread when it ends or gets another ring.
  void ReleaseByOwner() { Release(kOwnerDone); }
  bool OwnerDone() const { return (done_.load(std::memory_order_acquire) & kOwnerDone) != 0; }
  // Called by the session when it will not read the ring any more. `owner_is_out`: no owner can be
  // in the recording section, so that the memory may go at once.
  void ReleaseBySession(bool owner_is_out);

  // For the session's thread that drains. What is committed and not yet taken; Take ends that.
  bool Pending(ChunkSource* source) const;
  void Take(const ChunkSource& source);
  // Makes the memory that the owner will write next present, so that the owner takes no page fault
  // (several microseconds a page on a file). Only as far ahead as the ring is used: a thread that
  // records little holds little memory.
  void PopulateAhead();
  // On the owner's thread: room for `count` slots, as sonde_ring_room_ (fast_path.h).
  bool FindRoom(uint64_t count);
  uint64_t head() const;
  uint64_t dropped() const;
  // Ranges open now, as unfinished records. Right only after the owner is out of the recording
  // section; before that the innermost may be a mixture of two.
  uint32_t OpenRanges(Record* out, uint32_t capacity) const;
  double Fill() const;  // 0..1

  void RemoveFile();  // its name; the memory stays
  // Deletes a ring that no thread has, or, in the child of a fork, one of the parent's. Its file
  // stays.
  void Discard();

  uint64_t reported_dropped = 0;  // last dropped_total that a chunk reported; for the drain

 private:
  enum : uint32_t { kOwnerDone = 1, kSessionDone = 2 };
  Ring() = default;
  ~Ring() = default;
  [[nodiscard]] int MapFile(const std::string& path);
  // Gives all of the file disk blocks, and maps it; owner and drain thread. False: no.
  bool BackAll();
  [[nodiscard]] int BackRest(int fd);
  void Grow();
  uint64_t capacity() const;  // slots; at least those up to a head read before
  void Release(uint32_t who);
  void Unmap();

  char* mapping() const;  // that the owner writes to, or soon will
  Record* slots(uint64_t capacity) const;

  RingWriter writer_;
  char* memory_ = nullptr;  // the beginning: head, open ranges and the first slots
  size_t memory_size_ = 0;
  size_t whole_size_ = 0;               // of the ring at its full size
  std::atomic<char*> whole_ = nullptr;  // all of it; memory_ where that is all
  std::string path_;                    // empty: anonymous
  DescriptorIdentity file_;
  std::mutex backing_mutex_;
  uint64_t full_slots_ = 0;                // size to which it may grow
  const char* populated_ = nullptr;        // a mapping
  uint64_t populated_bytes_ = 0;           // of it, from its start
  std::atomic<uint64_t> backed_bytes_{0};  // of the file, from its start, that may be written
  bool may_grow_ = false;                  // the owner's: not full size yet, not wrapped yet
  std::atomic<int32_t>* ended_ = nullptr;
  std::atomic<uint32_t> done_{0};
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_RING_H_
