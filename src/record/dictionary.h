// Everything that records refer to by number: names, domains, argument sets, frames, stacks,
// threads; and facts about the process: metadata and issues. Kept for the life of the process.
// While a capture file is attached each new entry is written to it before its number is given out,
// so that no record can refer to an entry that a crash has lost. Texts of markers and arguments of
// one record (NameOnce, ArgsOnce) differ each time: they are kept while the session runs, and the
// next session reuses their numbers.
//
// In a session that keeps only the last seconds the file would grow without limit where programs
// make new names, shapes or stacks all the time. There the drain thread reports which entries its
// chunks refer to (NoteUse), and now and then goes over to a new file with those that kept records
// need (Rotate). In memory entries stay: ids are good for the life of the process. So that they
// cannot fill it, beyond kMaxTextBytes new names share one entry, new argument sets and stacks are
// left out, and an issue reports it.
//
// Threads: any. Known entries are found without a lock; adding and writing are serialised. Errors:
// a write that fails is remembered (write_error) and ends recording at once, as the recorder's word
// shows (sonde_features_); numbers stay valid. The drain thread checks write_error and stops the
// session.
#ifndef SONDE_RECORD_DICTIONARY_H_
#define SONDE_RECORD_DICTIONARY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/capture_files.h"
#include "record/intern_table.h"
#include "record/live_entries.h"

namespace sonde::record {

struct ThreadEntry {
  uint32_t index = 0;
  uint32_t tid = 0;
  uint32_t framework_number = 0;
  std::string name;
};

inline constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

// 1 for domains that are filtered out. There is one, as there is one dictionary in a process: the
// recording path reads it.
extern std::atomic<uint8_t> domain_off[256];
inline bool IsDomainRecorded(uint32_t domain) {
  return domain_off[domain & 0xff].load(std::memory_order_relaxed) == 0;
}

class Dictionary {
 public:
  Dictionary() = default;
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  uint32_t Name(std::string_view text);
  uint32_t NameOnce(std::string_view text);  // of this session only, where it is new; 0 without
  uint32_t Args(std::string_view encoded);
  uint32_t ArgsOnce(std::string_view encoded);  // the same
  uint32_t Frame(uint32_t function_name, uint32_t file_name, uint32_t line);
  uint32_t Stack(const uint32_t* frames, size_t count);
  uint32_t Domain(std::string_view text);  // 0 when there are 255 already

  // Which domains are recorded: comma separated lists, the first counts where it is not empty.
  // Affects domains made later, too. The result is read by IsDomainRecorded.
  void SetDomainFilter(const std::string& include, const std::string& exclude);

  void SetMetadata(std::string_view key, std::string_view json);
  void AddIssue(std::string_view text);       // kept for later sessions; equal texts once
  void SetThread(const ThreadEntry& thread);  // written when a session runs, not kept

  // Writes all that is known to `file` and everything new from now on. `file` stays the caller's.
  [[nodiscard]] int Attach(DictionaryFile* file);
  void Detach();
  // An entry of this session only (clock samples, process, issues found at its end, end mark).
  void WriteOnce(capture::EntryType type, uint32_t id, std::string_view payload);
  // As that of the file, before the last entries.
  void OpenReserve();

  // For a session that keeps only the last seconds, before Attach. Times: seconds, above 0.
  void KeepOnlyLive(uint32_t now_s);
  // By the drain thread, before it writes the chunk.
  void NoteUse(const ChunkSource& source, uint32_t now_s);
  // Writes the entries that records since `since_s` refer to into `next`, which replaces the
  // present file; that one is then the caller's to close and remove. 0 or the write error.
  [[nodiscard]] int Rotate(DictionaryFile* next, uint32_t since_s);
  void EndThread(uint32_t index);  // no chunk of it comes any more

  // Argument fields that did not fit their builder.
  void CountLostArguments(uint64_t count) {
    lost_arguments_.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t TakeLostArguments() { return lost_arguments_.exchange(0, std::memory_order_relaxed); }

  int write_error() const { return write_error_.load(std::memory_order_seq_cst); }
  uint64_t bytes_written();

  // Around fork: no thread is inside while the address space is copied. After it the child drops
  // the parent's file.
  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }
  void DropFileInChild() { file_ = nullptr; }

 private:
  uint32_t FindOrAdd(InternTable* table, capture::EntryType type, std::string_view bytes);
  void Write(capture::EntryType type, uint32_t id, std::string_view payload);
  void StopAfter(int error);
  void WriteTable(const InternTable& table, capture::EntryType type, LiveEntries* live);
  uint32_t NameLocked(std::string_view text);
  void ApplyFilter(uint32_t domain, std::string_view text);
  uint32_t AddAtLimit(const InternTable* table);
  void WriteFacts();  // metadata, issues
  // With live_on_, under the mutex. Use: now, by a record; Need: by another entry.
  void UseName(uint32_t id);
  void UseArgs(uint32_t id);
  void UseStack(uint32_t id);
  void NeedName(uint32_t id);
  void NeedFrame(uint32_t id);
  void NeedParts(capture::EntryType type,
                 std::string_view bytes);  // the entries that an entry refers to
  void WriteArgs(uint32_t id);
  void WriteStack(uint32_t id);
  void MarkNew(capture::EntryType type, uint32_t id);

  // Numbers of a table whose entries hold for one session; the next one reuses them.
  struct PassingIds {
    std::vector<uint32_t> ids;
    size_t used = 0;  // in this session
    uint32_t Next(InternTable& table) {
      if (used == ids.size()) {
        const uint32_t id = table.AddEmpty();
        if (id == 0) return 0;
        ids.push_back(id);
      }
      return ids[used++];
    }
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void BeginPassing();

  struct KeptThread {
    std::string payload;
    uint32_t used_s;
    bool ended;
  };

  std::mutex mutex_;  // guards all below except the lock-free reads of the tables
  DictionaryFile* file_ = nullptr;
  std::atomic<int> write_error_{0};
  InternTable names_;
  InternTable args_;
  PassingIds passing_args_;
  PassingIds passing_names_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> session_names_;
  uint64_t session_text_bytes_ = 0;  // of session_names_
  InternTable frames_;
  InternTable stacks_;
  InternTable domains_;
  InternTable issues_;
  std::map<uint32_t, std::string> metadata_;  // by name id of the key
  std::string include_;
  std::string exclude_;
  std::atomic<uint64_t> lost_arguments_{0};
  uint64_t text_bytes_ = 0;     // of names, argument sets and stacks
  uint32_t overflow_name_ = 0;  // replaces all names beyond the limit

  bool live_on_ = false;  // the session keeps only the last seconds
  uint32_t now_s_ = 0;
  LiveEntries live_names_;
  LiveEntries live_args_;
  LiveEntries live_frames_;
  LiveEntries live_stacks_;
  std::map<uint32_t, KeptThread> threads_;  // by index
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_DICTIONARY_H_
