#include "importers/capture/dictionary.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/strings.h"
#include "importers/capture/file_header.h"
#include "importers/capture/issues.h"
#include "importers/common/part_file.h"

namespace sonde::importers::capture_import {
namespace {

using base::LoadLe;
using capture::EntryHead;
using capture::EntryType;

constexpr uint32_t kMaxEntryBytes = 16U << 20U;
// Bytes that may be checksummed while looking for the next valid entry behind a garbled one.
constexpr size_t kSearchBudget = 256U << 20U;
// Ids are dense except where a capture kept only the last seconds of a long time; an id far beyond
// the entries read so far is not worth a table of that size.
constexpr uint32_t kIdSlack = 1U << 24U;

size_t Padded(uint32_t length) { return (size_t{length} + 7) & ~size_t{7}; }

class DictionaryReader {
 public:
  DictionaryReader(Dictionary& dictionary, store::ImportIssues& issues)
      : dictionary_(dictionary), issues_(issues) {}

  void ReadFile(std::span<const std::byte> bytes, std::string_view file) {
    size_t position = sizeof(capture::FileHeader);
    while (position < bytes.size()) {
      const size_t length = EntryAt(bytes, position);
      if (length > 0) {
        position += length;
        continue;
      }
      const size_t next = NextEntry(bytes, position + 8);
      if (next == bytes.size()) {
        issues_.Add(kTruncatedFile, file, static_cast<int64_t>(position));
      } else {
        issues_.Add(kGarbledDictionary, file, static_cast<int64_t>(position));
      }
      position = next;
    }
  }

 private:
  // Bytes of the valid entry at `position`, which is taken in; 0 where there is none.
  size_t EntryAt(std::span<const std::byte> bytes, size_t position) {
    const size_t left = bytes.size() - position;
    if (left < sizeof(EntryHead)) return 0;
    const auto head = LoadLe<EntryHead>(bytes.data() + position);
    if (head.length > kMaxEntryBytes || head.length > left - sizeof(EntryHead)) return 0;
    if (head.type == 0 || head.flags != 0) return 0;
    const std::byte* covered = bytes.data() + position + sizeof(head.crc);
    const size_t covered_bytes = sizeof(EntryHead) - sizeof(head.crc) + head.length;
    searched_ += covered_bytes;
    if (base::Crc32c(covered, covered_bytes) != head.crc) return 0;
    Take(head, bytes.subspan(position + sizeof(EntryHead), head.length));
    return std::min(sizeof(EntryHead) + Padded(head.length), left);
  }

  size_t NextEntry(std::span<const std::byte> bytes, size_t position) {
    searched_ = 0;
    for (; position < bytes.size() && searched_ < kSearchBudget; position += 8) {
      if (PeekEntry(bytes, position)) return position;
    }
    return bytes.size();
  }

  bool PeekEntry(std::span<const std::byte> bytes, size_t position) {
    const size_t left = bytes.size() - position;
    if (left < sizeof(EntryHead)) return false;
    const auto head = LoadLe<EntryHead>(bytes.data() + position);
    if (head.length > left - sizeof(EntryHead) || head.length > kMaxEntryBytes) return false;
    if (head.type == 0 || head.type > kLastType || head.flags != 0) return false;
    const size_t covered_bytes = sizeof(EntryHead) - sizeof(head.crc) + head.length;
    searched_ += covered_bytes;
    return base::Crc32c(bytes.data() + position + sizeof(head.crc), covered_bytes) == head.crc;
  }

  template <class T>
  T* At(std::vector<T>& list, uint32_t id) {
    if (id >= list.size()) {
      if (id > entries_ + kIdSlack) {
        issues_.Add(kGarbledDictionary, "dictionary");
        return nullptr;
      }
      list.resize(size_t{id} + 1);
    }
    return &list[id];
  }

  void Take(const EntryHead& head, std::span<const std::byte> payload) {
    const std::string_view text = base::AsText(payload);
    ++entries_;
    switch (static_cast<EntryType>(head.type)) {
      case EntryType::kName:
        if (auto* name = At(dictionary_.names, head.id)) *name = text;
        break;
      case EntryType::kDomain:
        if (head.id < dictionary_.domains.size()) dictionary_.domains[head.id] = text;
        break;
      case EntryType::kArgs:
        if (auto* args = At(dictionary_.args, head.id)) *args = payload;
        break;
      case EntryType::kFrame:
        TakeFrame(head.id, payload);
        break;
      case EntryType::kStack:
        if (auto* stack = At(dictionary_.stacks, head.id)) *stack = payload;
        break;
      case EntryType::kThread:
        TakeThread(head.id, payload);
        break;
      case EntryType::kMetadata:
        TakeMetadata(head.id, text);
        break;
      case EntryType::kClockSample:
        if (payload.size() >= sizeof(capture::ClockSampleEntry)) {
          dictionary_.clocks.push_back(LoadLe<capture::ClockSampleEntry>(payload.data()));
        }
        break;
      case EntryType::kSessionEnd:
        TakeEnd(head.id, payload);
        break;
      case EntryType::kProcess:
        dictionary_.parent_pid = head.id;
        dictionary_.command_line = text;
        break;
      case EntryType::kIssue:
        dictionary_.issues.push_back(text);
        break;
    }
  }

  void TakeFrame(uint32_t id, std::span<const std::byte> payload) {
    base::ByteReader reader(payload);
    const FrameEntry frame{reader.Read<uint32_t>(), reader.Read<uint32_t>(),
                           reader.Read<uint32_t>()};
    if (!reader.ok()) return;
    if (auto* slot = At(dictionary_.frames, id)) *slot = frame;
  }

  void TakeThread(uint32_t index, std::span<const std::byte> payload) {
    base::ByteReader reader(payload);
    ThreadEntry thread{index, reader.Read<uint32_t>(), reader.Read<uint32_t>(), {}};
    if (!reader.ok()) return;
    thread.name = reader.ReadText(reader.remaining());
    std::vector<ThreadEntry>& threads = dictionary_.threads;
    const auto place = std::lower_bound(
        threads.begin(), threads.end(), index,
        [](const ThreadEntry& entry, uint32_t value) { return entry.index < value; });
    if (place != threads.end() && place->index == index) {
      *place = thread;  // a later entry knows more (name, framework number)
    } else {
      threads.insert(place, thread);
    }
  }

  void TakeMetadata(uint32_t key, std::string_view json) {
    for (MetadataEntry& entry : dictionary_.metadata) {
      if (entry.key == key) {
        entry.json = json;
        return;
      }
    }
    dictionary_.metadata.push_back({key, json});
  }

  void TakeEnd(uint32_t reason, std::span<const std::byte> payload) {
    base::ByteReader reader(payload);
    SessionEnd end{static_cast<capture::StopReason>(reason), reader.Read<uint64_t>(), {}};
    if (!reader.ok()) return;
    end.message = reader.ReadText(reader.remaining());
    dictionary_.end = end;
  }

  static constexpr uint16_t kLastType = static_cast<uint16_t>(EntryType::kIssue);
  Dictionary& dictionary_;
  store::ImportIssues& issues_;
  size_t searched_ = 0;
  uint64_t entries_ = 0;  // read so far
};

}  // namespace

const ThreadEntry* Dictionary::FindThread(uint32_t index) const {
  const auto place = std::lower_bound(
      threads.begin(), threads.end(), index,
      [](const ThreadEntry& entry, uint32_t value) { return entry.index < value; });
  return place != threads.end() && place->index == index ? &*place : nullptr;
}

Result<Dictionary> ReadDictionary(const std::vector<std::string>& files,
                                  store::ImportIssues& issues) {
  Dictionary dictionary;
  bool first = true;
  for (const std::string& path : files) {
    auto file = base::MappedFile::Open(path);
    const std::string_view name = base::BaseName(path);
    if (!file.ok()) {
      if (IsGone(path, file.status())) return file.status();
      CountUnreadable(name, file.status(), issues);
      continue;
    }
    const auto header = ReadHeader(file->bytes(), capture::kDictionaryMagic, name, issues);
    if (!header) continue;
    if (first) {
      dictionary.session_id = header->session_id;
      dictionary.pid = header->pid;
      dictionary.clock_kind = header->clock_kind;
      dictionary.created_realtime_ns = header->created_realtime_ns;
      first = false;
    } else if (header->session_id != dictionary.session_id) {
      issues.Add(kForeignFile, name);
      continue;
    }
    DictionaryReader(dictionary, issues).ReadFile(file->bytes(), name);
    dictionary.files.push_back(std::move(*file));
  }
  if (first) {
    return base::CorruptDataError("the capture has no readable dictionary file");
  }
  return dictionary;
}

}  // namespace sonde::importers::capture_import
