#include "probe/object_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/strings.h"
#include "probe/json_text.h"

namespace sonde::probe {
namespace {

using base::Concat;
using base::ErrnoStatus;

}  // namespace

Result<ObjectFile> ObjectFile::Create(std::string path, Frame frame) {
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, Concat(frame.head, frame.empty_tail)));
  const int descriptor = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return ErrnoStatus(errno, "open", path);
  ObjectFile file(std::move(path), std::move(frame), descriptor);
  file.data_end_ = file.frame_.head.size();
  return file;
}

ObjectFile::ObjectFile(std::string path, Frame frame, int descriptor)
    : path_(std::move(path)), frame_(std::move(frame)), descriptor_(descriptor) {}

ObjectFile::ObjectFile(ObjectFile&& other) noexcept { *this = std::move(other); }

ObjectFile& ObjectFile::operator=(ObjectFile&& other) noexcept {
  if (this == &other) return *this;
  CloseDescriptor();
  path_ = std::move(other.path_);
  frame_ = std::move(other.frame_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  members_ = std::move(other.members_);
  index_ = std::move(other.index_);
  waiting_ = std::move(other.waiting_);
  next_order_ = other.next_order_;
  last_written_ = other.last_written_;
  data_end_ = other.data_end_;
  written_ = other.written_;
  removed_ = other.removed_;
  is_stale_ = other.is_stale_;
  status_ = std::move(other.status_);
  return *this;
}

ObjectFile::~ObjectFile() { CloseDescriptor(); }

void ObjectFile::CloseDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

ObjectFile::Member& ObjectFile::Touch(const std::string& name) {
  const auto [entry, is_new] = index_.try_emplace(name, members_.size());
  if (is_new) {
    members_.emplace_back();
    members_.back().name = name;
  }
  Member& member = members_[entry->second];
  if (member.is_written && !member.is_stale) {
    if (!member.is_kept) member.parts.clear();
    member.is_stale = is_stale_ = true;
  }
  member.is_finished = false;
  if (is_new || Moves(name)) {
    waiting_.erase(member.order);
    member.order = ++next_order_;
    if (!member.is_written) waiting_[member.order] = entry->second;
  }
  return member;
}

void ObjectFile::SetPart(const std::string& name, std::string_view key, std::string text) {
  Member& member = Touch(name);
  for (auto& [old_key, old_text] : member.parts) {
    if (old_key == key) {
      old_text = std::move(text);
      return;
    }
  }
  member.parts.emplace_back(key, std::move(text));
}

void ObjectFile::SetValue(const std::string& name, std::string text) {
  Touch(name).parts.assign(1, {std::string(), std::move(text)});
}

void ObjectFile::Finish(const std::string& name, bool is_kept) {
  const auto entry = index_.find(name);
  if (entry == index_.end()) return;
  Member& member = members_[entry->second];
  member.is_finished = true;
  member.is_kept = member.is_kept || is_kept;
  if (!member.is_written) WriteReady();
}

void ObjectFile::Remove(const std::string& name) {
  const auto entry = index_.find(name);
  if (entry == index_.end()) return;
  Member& member = members_[entry->second];
  member.is_removed = true;
  member.parts.clear();
  removed_++;
  if (member.is_written) is_stale_ = true;
  waiting_.erase(member.order);
  index_.erase(entry);
}

void ObjectFile::WriteReady() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    Member& member = members_[next->second];
    if (member.is_finished) {
      Write(member);
      next = waiting_.erase(next);
    } else if (Moves(member.name)) {
      ++next;  // its place will be behind all that are there now
    } else {
      return;
    }
  }
}

std::string ObjectFile::TextOf(const Member& member) const {
  std::string text;
  AppendQuoted(text, member.name);
  text.append(": ");
  if (member.parts.size() == 1 && member.parts.front().first.empty()) {
    return text.append(member.parts.front().second);
  }
  if (member.parts.empty()) return text.append("{}");
  char separator = '{';
  for (const auto& [key, value] : member.parts) {
    text.push_back(separator);
    AppendLine(text, frame_.depth + 1);
    AppendQuoted(text, key);
    text.append(": ").append(value);
    separator = ',';
  }
  AppendLine(text, frame_.depth);
  text.push_back('}');
  return text;
}

void ObjectFile::Write(Member& member) {
  if (!status_.ok()) return;
  const std::string text = TextOf(member);
  std::string out;
  out.reserve(text.size() + 32);
  if (written_ > 0) out.push_back(',');
  AppendLine(out, frame_.depth);
  member.offset = data_end_ + out.size();
  member.bytes = text.size();
  out.append(text);
  const size_t end = out.size();
  out.append(frame_.tail);
  status_ = WriteAt(out, data_end_);
  if (!status_.ok()) return Undo();
  data_end_ += end;
  written_++;
  member.is_written = true;
  if (member.order < last_written_) is_stale_ = true;
  last_written_ = member.order;
  if (!member.is_kept) member.parts = {};
}

Status ObjectFile::WriteAt(std::string_view text, uint64_t offset) {
  while (!text.empty()) {
    const ssize_t some = pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return ErrnoStatus(errno, "write", path_);
    text.remove_prefix(static_cast<size_t>(some));
    offset += static_cast<uint64_t>(some);
  }
  return Status::Ok();
}

// After a failed write: the previous text still fits.
void ObjectFile::Undo() {
  const std::string& tail = written_ > 0 ? frame_.tail : frame_.empty_tail;
  if (ftruncate(descriptor_, static_cast<off_t>(data_end_)) != 0) return;
  // The failure that brought us here is the one to report.
  WriteAt(tail, data_end_).IgnoreError();
}

Result<std::string> ObjectFile::CurrentText(const Member& member) const {
  if (!member.is_written || member.is_stale) return TextOf(member);
  std::string text(member.bytes, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t some = pread(descriptor_, text.data() + done, text.size() - done,
                               static_cast<off_t>(member.offset + done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return ErrnoStatus(errno, "read", path_);
    if (some == 0)
      return base::CorruptDataError(Concat("'", path_, "' was cut by another program"));
    done += static_cast<size_t>(some);
  }
  return text;
}

Status ObjectFile::Rewrite() {
  std::map<uint64_t, Member*> in_order;
  for (Member& member : members_) {
    if (!member.is_removed) in_order[member.order] = &member;
  }
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::Create(path_));
  SONDE_RETURN_IF_ERROR(file.Append(frame_.head));
  std::string lead;
  std::vector<uint64_t> offsets;
  for (const auto& [order, member] : in_order) {
    SONDE_ASSIGN_OR_RETURN(const std::string text, CurrentText(*member));
    lead.assign(offsets.empty() ? "" : ",");
    AppendLine(lead, frame_.depth);
    SONDE_RETURN_IF_ERROR(file.Append(lead));
    offsets.push_back(file.bytes_written());
    member->bytes = text.size();
    SONDE_RETURN_IF_ERROR(file.Append(text));
  }
  const uint64_t end = file.bytes_written();
  SONDE_RETURN_IF_ERROR(file.Append(offsets.empty() ? frame_.empty_tail : frame_.tail));
  SONDE_RETURN_IF_ERROR(file.Commit());
  CloseDescriptor();
  descriptor_ = open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor_ < 0) return ErrnoStatus(errno, "open", path_);
  data_end_ = end;
  written_ = offsets.size();
  size_t i = 0;
  for (const auto& [order, member] : in_order) {
    member->offset = offsets[i++];
    member->is_written = true;
    member->is_stale = false;
    if (!member->is_kept) member->parts = {};
    last_written_ = order;
  }
  is_stale_ = false;
  return Status::Ok();
}

Status ObjectFile::Settle() {
  for (const auto& [order, index] : waiting_) members_[index].is_finished = true;
  WriteReady();
  SONDE_RETURN_IF_ERROR(status_);
  if (is_stale_) status_ = Rewrite();
  return status_;
}

}  // namespace sonde::probe
