#include "record/dictionary.h"

#include <cstring>

#include "record/memory.h"
#include "sonde/sonde.h"

namespace sonde::record {
namespace {

using capture::EntryType;

constexpr uint32_t kMaxDomains = 255;

std::string_view AsBytes(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

// Is `text` one of the comma separated items?
bool Lists(const std::string& list, std::string_view text) {
  size_t begin = 0;
  while (begin <= list.size()) {
    size_t end = list.find(',', begin);
    if (end == std::string::npos) end = list.size();
    std::string_view item = std::string_view(list).substr(begin, end - begin);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == text) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::atomic<uint8_t> domain_off[256] = {};

uint32_t Dictionary::FindOrAdd(InternTable* table, EntryType type, std::string_view bytes) {
  const uint32_t known = table->Find(bytes);
  if (known != 0) return known;
  const std::lock_guard lock(mutex_);
  const uint32_t meanwhile = table->Find(bytes);
  if (meanwhile != 0) return meanwhile;
  if (IsOutOfMemory()) return 0;  // and the session ends
  if (text_bytes_ >= kMaxTextBytes && table != &frames_) return AddAtLimit(table);
  text_bytes_ += bytes.size();
  if (live_on_) NeedParts(type, bytes);
  Write(type, table->next_id(), bytes);  // before Add: from then on other threads may use the id
  if (live_on_) MarkNew(type, table->next_id());
  return table->Add(bytes);
}

// Frames are as many as a program has lines, the rest as many as it likes.
uint32_t Dictionary::AddAtLimit(const InternTable* table) {
  if (overflow_name_ == 0) {
    overflow_name_ = NameLocked("(not kept: too many names)");
    constexpr std::string_view kIssue =
        "names, argument sets and stacks take 256 MiB: new ones are not kept any more";
    issues_.Add(kIssue);
    Write(EntryType::kIssue, 0, kIssue);
  }
  return table == &names_ ? overflow_name_ : 0;
}

uint32_t Dictionary::Name(std::string_view text) {
  return FindOrAdd(&names_, EntryType::kName, text);
}

uint32_t Dictionary::Args(std::string_view encoded) {
  return encoded.empty() ? 0 : FindOrAdd(&args_, EntryType::kArgs, encoded);
}

// A session that keeps only the last seconds may have to write it again: there it is kept.
uint32_t Dictionary::NameOnce(std::string_view text) {
  const uint32_t kept = names_.Find(text);
  if (kept != 0) return kept;
  {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return 0;
    if (!live_on_) {
      const auto known = session_names_.find(text);
      if (known != session_names_.end()) return known->second;
      if (IsOutOfMemory()) return 0;
      if (session_text_bytes_ >= kMaxTextBytes) return AddAtLimit(&names_);
      const uint32_t id = passing_names_.Next(names_);
      Write(EntryType::kName, id, text);
      session_names_.emplace(text, id);
      session_text_bytes_ += text.size();
      return id;
    }
  }
  return Name(text);
}

void Dictionary::BeginPassing() {
  passing_args_.used = 0;
  passing_names_.used = 0;
  session_names_ = {};
  session_text_bytes_ = 0;
}

// As NameOnce.
uint32_t Dictionary::ArgsOnce(std::string_view encoded) {
  if (encoded.empty()) return 0;
  {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return 0;
    if (!live_on_) {
      const uint32_t id = passing_args_.Next(args_);
      Write(EntryType::kArgs, id, encoded);
      return id;
    }
  }
  return Args(encoded);
}

uint32_t Dictionary::Frame(uint32_t function_name, uint32_t file_name, uint32_t line) {
  const uint32_t fields[3] = {function_name, file_name, line};
  return FindOrAdd(&frames_, EntryType::kFrame, AsBytes(fields, sizeof(fields)));
}

uint32_t Dictionary::Stack(const uint32_t* frames, size_t count) {
  if (count == 0) return 0;
  return FindOrAdd(&stacks_, EntryType::kStack, AsBytes(frames, count * sizeof(*frames)));
}

uint32_t Dictionary::Domain(std::string_view text) {
  if (text.empty() || text == "default") return 0;
  const uint32_t known = domains_.Find(text);
  if (known != 0) return known;
  const std::lock_guard lock(mutex_);
  const uint32_t meanwhile = domains_.Find(text);
  if (meanwhile != 0) return meanwhile;
  if (domains_.entries().size() >= kMaxDomains) return 0;
  ApplyFilter(domains_.next_id(), text);
  Write(EntryType::kDomain, domains_.next_id(), text);
  return domains_.Add(text);
}

void Dictionary::SetDomainFilter(const std::string& include, const std::string& exclude) {
  const std::lock_guard lock(mutex_);
  include_ = include;
  exclude_ = exclude;
  ApplyFilter(0, "default");
  uint32_t id = 0;
  for (const std::string_view text : domains_.entries()) ApplyFilter(++id, text);
}

void Dictionary::ApplyFilter(uint32_t domain, std::string_view text) {
  const bool off = include_.empty() ? Lists(exclude_, text) : !Lists(include_, text);
  domain_off[domain].store(off ? 1 : 0, std::memory_order_relaxed);
}

uint32_t Dictionary::NameLocked(std::string_view text) {
  const uint32_t known = names_.Find(text);
  if (known != 0) return known;
  Write(EntryType::kName, names_.next_id(), text);
  if (live_on_) MarkNew(EntryType::kName, names_.next_id());
  return names_.Add(text);
}

void Dictionary::SetMetadata(std::string_view key, std::string_view json) {
  const std::lock_guard lock(mutex_);
  const uint32_t id = NameLocked(key);
  metadata_[id] = json;
  if (live_on_) NeedName(id);
  Write(EntryType::kMetadata, id, json);
}

void Dictionary::AddIssue(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (issues_.Find(text) != 0) return;
  issues_.Add(text);
  Write(EntryType::kIssue, 0, text);
}

void Dictionary::SetThread(const ThreadEntry& thread) {
  const std::lock_guard lock(mutex_);
  std::string payload(2 * sizeof(uint32_t), '\0');
  std::memcpy(payload.data(), &thread.tid, sizeof(uint32_t));
  std::memcpy(payload.data() + sizeof(uint32_t), &thread.framework_number, sizeof(uint32_t));
  payload += thread.name;
  Write(EntryType::kThread, thread.index, payload);
  if (live_on_) threads_[thread.index] = {std::move(payload), now_s_, false};
}

int Dictionary::Attach(DictionaryFile* file) {
  const std::lock_guard lock(mutex_);
  file_ = file;
  BeginPassing();
  for (LiveEntries* live : {&live_names_, &live_args_, &live_frames_, &live_stacks_}) {
    live->BeginFile();
  }
  write_error_.store(0, std::memory_order_relaxed);
  file_->BeginBatch();
  WriteTable(names_, EntryType::kName, &live_names_);
  WriteTable(domains_, EntryType::kDomain, nullptr);
  WriteTable(args_, EntryType::kArgs, &live_args_);
  WriteTable(frames_, EntryType::kFrame, &live_frames_);
  WriteTable(stacks_, EntryType::kStack, &live_stacks_);
  WriteFacts();
  if (file_ != nullptr) {
    const int result = file_->EndBatch();
    if (result != 0) write_error_.store(result, std::memory_order_relaxed);
  }
  if (write_error() != 0) file_ = nullptr;
  return write_error();
}

void Dictionary::WriteFacts() {
  for (const auto& [key, json] : metadata_) {
    if (live_on_) NeedName(key);
    Write(EntryType::kMetadata, key, json);
  }
  for (const std::string_view text : issues_.entries()) Write(EntryType::kIssue, 0, text);
}

void Dictionary::Detach() {
  const std::lock_guard lock(mutex_);
  file_ = nullptr;
  live_on_ = false;
  BeginPassing();
}

void Dictionary::WriteOnce(EntryType type, uint32_t id, std::string_view payload) {
  const std::lock_guard lock(mutex_);
  Write(type, id, payload);
}

void Dictionary::OpenReserve() {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr) file_->OpenReserve();
}

uint64_t Dictionary::bytes_written() {
  const std::lock_guard lock(mutex_);
  return file_ == nullptr ? 0 : file_->size_bytes();
}

void Dictionary::Write(EntryType type, uint32_t id, std::string_view payload) {
  if (file_ == nullptr) return;
  const int result = file_->Append(type, id, {payload});
  if (result != 0) StopAfter(result);
}

// No record may refer to an entry that is not in the file: the word of the session goes before
// others can find the number, so nothing is recorded from here on. The drain thread ends the
// session; the file stays attached, since it takes the end mark.
void Dictionary::StopAfter(int error) {
  write_error_.store(error, std::memory_order_seq_cst);  // first, as Recorder::Start reads it last
  __atomic_store_n(&sonde_features_, 0, __ATOMIC_SEQ_CST);
}

void Dictionary::WriteTable(const InternTable& table, EntryType type, LiveEntries* live) {
  uint32_t id = 0;
  for (const std::string_view bytes : table.entries()) {
    ++id;
    if (bytes.data() == nullptr) continue;  // was of another session
    Write(type, id, bytes);
    if (live_on_ && live != nullptr) live->Need(id);
  }
}

}  // namespace sonde::record
