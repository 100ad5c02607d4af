// The dictionary of a session that keeps only the last seconds: entries that no kept record refers
// to leave the file (Dictionary::Rotate), and come back when a record refers to them again
// (Dictionary::NoteUse).
#include <cstring>

#include "capture/args.h"
#include "record/dictionary.h"

namespace sonde::record {
namespace {

using capture::EntryType;
using capture::RecordKind;

uint32_t ReadU32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  if (at + sizeof(value) <= bytes.size()) {
    std::memcpy(&value, bytes.data() + at, sizeof(value));
  }
  return value;
}

bool HasArgs(RecordKind kind) {
  return kind != RecordKind::kCounter && kind != RecordKind::kFlowOut &&
         kind != RecordKind::kFlowIn && kind < RecordKind::kThreadUse;
}

bool HasStack(RecordKind kind) {
  return kind < RecordKind::kMark && kind != RecordKind::kBackwardNode;
}

}  // namespace

void Dictionary::KeepOnlyLive(uint32_t now_s) {
  const std::lock_guard lock(mutex_);
  live_on_ = true;
  now_s_ = now_s;
  threads_.clear();
}

void Dictionary::NoteUse(const ChunkSource& source, uint32_t now_s) {
  const std::lock_guard lock(mutex_);
  now_s_ = now_s;
  if (const auto thread = threads_.find(source.thread_index); thread != threads_.end()) {
    thread->second.used_s = now_s;
  }
  bool second_of_pair = false;
  for (int piece = 0; piece < 2; ++piece) {
    for (uint32_t i = 0; i < source.counts[piece]; ++i) {
      const capture::Record& record = source.pieces[piece][i];
      if (second_of_pair) {
        second_of_pair = false;
        continue;
      }
      const RecordKind kind = capture::KindOf(record);
      second_of_pair = capture::SlotCount(kind) == 2;
      if (second_of_pair) continue;
      UseName(record.name);
      if (HasArgs(kind)) UseArgs(record.args);
      if (HasStack(kind)) UseStack(record.link);
    }
  }
}

// An id that a torn or foreign record holds refers to nothing.
void Dictionary::UseName(uint32_t id) {
  if (id == 0 || id >= names_.next_id()) return;
  const std::string_view text = names_.entries()[id - 1];
  if (text.data() == nullptr) return;  // was of another session
  if (live_names_.Use(id, now_s_)) Write(EntryType::kName, id, text);
}

void Dictionary::UseArgs(uint32_t id) {
  if (id == 0 || id >= args_.next_id()) return;
  if (live_args_.Use(id, now_s_)) WriteArgs(id);
}

void Dictionary::UseStack(uint32_t id) {
  if (id == 0 || id >= stacks_.next_id()) return;
  if (live_stacks_.Use(id, now_s_)) WriteStack(id);
}

void Dictionary::NeedName(uint32_t id) {
  if (id == 0 || id >= names_.next_id()) return;
  const std::string_view text = names_.entries()[id - 1];
  if (text.data() == nullptr) return;  // was of another session
  if (live_names_.Need(id)) Write(EntryType::kName, id, text);
}

void Dictionary::NeedFrame(uint32_t id) {
  if (id == 0 || id >= frames_.next_id() || !live_frames_.Need(id)) return;
  const std::string_view frame = frames_.entries()[id - 1];
  NeedParts(EntryType::kFrame, frame);
  Write(EntryType::kFrame, id, frame);
}

void Dictionary::NeedParts(EntryType type, std::string_view bytes) {
  if (type == EntryType::kFrame) {
    NeedName(ReadU32(bytes, 0));
    NeedName(ReadU32(bytes, sizeof(uint32_t)));
  }
  if (type == EntryType::kStack) {
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) NeedFrame(ReadU32(bytes, at));
  }
  if (type != EntryType::kArgs) return;
  for (size_t at = 0; at + sizeof(capture::ArgHead) <= bytes.size();) {
    capture::ArgHead head;
    std::memcpy(&head, bytes.data() + at, sizeof(head));
    NeedName(head.key);
    at += sizeof(head);
    if (head.type == static_cast<uint16_t>(capture::ArgType::kName)) NeedName(ReadU32(bytes, at));
    at += (size_t{head.length} + 3) / 4 * 4;
  }
}

// An entry follows the entries that it refers to.
void Dictionary::WriteArgs(uint32_t id) {
  const std::string_view set = args_.entries()[id - 1];
  if (set.data() == nullptr) return;  // was of another session
  NeedParts(EntryType::kArgs, set);
  Write(EntryType::kArgs, id, set);
}

void Dictionary::WriteStack(uint32_t id) {
  const std::string_view stack = stacks_.entries()[id - 1];
  NeedParts(EntryType::kStack, stack);
  Write(EntryType::kStack, id, stack);
}

int Dictionary::Rotate(DictionaryFile* next, uint32_t since_s) {
  const std::lock_guard lock(mutex_);
  DictionaryFile* const before = file_;
  if (before == nullptr || write_error() != 0) return write_error();
  file_ = next;
  for (LiveEntries* live : {&live_names_, &live_args_, &live_frames_, &live_stacks_}) {
    live->BeginFile();
  }
  file_->BeginBatch();
  for (uint32_t id = 1; id < names_.next_id(); ++id) {
    if (live_names_.UsedSince(id, since_s)) NeedName(id);
  }
  WriteTable(domains_, EntryType::kDomain, nullptr);
  for (uint32_t id = 1; id < args_.next_id(); ++id) {
    if (live_args_.UsedSince(id, since_s) && live_args_.Need(id)) WriteArgs(id);
  }
  for (uint32_t id = 1; id < stacks_.next_id(); ++id) {
    if (live_stacks_.UsedSince(id, since_s) && live_stacks_.Need(id)) WriteStack(id);
  }
  WriteFacts();
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    if (thread->second.ended && thread->second.used_s < since_s) {
      thread = threads_.erase(thread);
    } else {
      Write(EntryType::kThread, thread->first, thread->second.payload);
      ++thread;
    }
  }
  const int result = file_->EndBatch();
  if (result != 0) StopAfter(result);
  return write_error();
}

void Dictionary::EndThread(uint32_t index) {
  const std::lock_guard lock(mutex_);
  if (const auto thread = threads_.find(index); thread != threads_.end()) {
    thread->second.ended = true;
  }
}

// Called for each new entry that is written: it is in the file, and may be used right now.
void Dictionary::MarkNew(EntryType type, uint32_t id) {
  if (type == EntryType::kName) live_names_.Use(id, now_s_);
  if (type == EntryType::kArgs) live_args_.Use(id, now_s_);
  if (type == EntryType::kFrame) live_frames_.Use(id, now_s_);
  if (type == EntryType::kStack) live_stacks_.Use(id, now_s_);
}

}  // namespace sonde::record
