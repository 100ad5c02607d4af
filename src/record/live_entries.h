// The dictionary entries of one kind that are in the present dictionary file, and when records last
// referred to them. For sessions that keep only the last seconds (see Dictionary::Rotate).
//
// Ids count from 1. Times are seconds of any clock that begins above 0. Not thread-safe.
#ifndef SONDE_RECORD_LIVE_ENTRIES_H_
#define SONDE_RECORD_LIVE_ENTRIES_H_

#include <cstdint>
#include <vector>

namespace sonde::record {

class LiveEntries {
 public:
  // A new, empty file begins.
  void BeginFile() { ++file_; }
  // Notes a use now. True: the entry is not in the file; the caller writes it at once.
  bool Use(uint32_t id, uint32_t now_s) {
    Entry& entry = At(id);
    entry.used_s = now_s;
    return MarkWritten(entry);
  }
  // The same without a use.
  bool Need(uint32_t id) { return MarkWritten(At(id)); }
  bool UsedSince(uint32_t id, uint32_t since_s) { return At(id).used_s >= since_s; }

 private:
  struct Entry {
    uint32_t file = 0;
    uint32_t used_s = 0;
  };
  Entry& At(uint32_t id) {
    if (id >= entries_.size()) entries_.resize(id + id / 2 + 1);
    return entries_[id];
  }
  bool MarkWritten(Entry& entry) const {
    if (entry.file == file_) return false;
    entry.file = file_;
    return true;
  }

  uint32_t file_ = 1;
  std::vector<Entry> entries_;
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_LIVE_ENTRIES_H_
