#include "precision/sqlite/page_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/temporaries.h"

namespace sonde::precision::sqlite {
namespace {

constexpr size_t kFileHeaderBytes = 100;
constexpr size_t kBufferBytes = size_t{1} << 18U;  // stays in the processor's cache
// SQLite locks bytes here and keeps nothing on the page that holds them.
constexpr uint32_t kLockPage = 0x40000000U / kPageBytes + 1;

bool IsInterior(TreePage::Kind kind) {
  return kind == TreePage::Kind::kIndexInterior || kind == TreePage::Kind::kTableInterior;
}

Status WriteAt(int descriptor, std::string_view text, off_t offset, const std::string& path) {
  while (!text.empty()) {
    const ssize_t done = ::pwrite(descriptor, text.data(), text.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return base::ErrnoStatus(errno, "write", path);
    text.remove_prefix(static_cast<size_t>(done));
    offset += done;
  }
  return Status::Ok();
}

// The first hundred bytes of the file.
void FillFileHeader(uint32_t page_count, char* out) {
  constexpr uint32_t kSchemaFormat = 4;
  constexpr uint32_t kUtf8 = 1;
  constexpr uint32_t kLibraryVersion = 3040001;
  std::memcpy(out, "SQLite format 3", 16);
  PutBigEnd16(kPageBytes, out + 16);
  out[18] = 1;  // no write-ahead log yet; who opens the file may begin one
  out[19] = 1;
  out[20] = 0;
  out[21] = 64;  // fixed by the format
  out[22] = 32;
  out[23] = 32;
  PutBigEnd32(1, out + 24);  // change counter
  PutBigEnd32(page_count, out + 28);
  PutBigEnd32(1, out + 40);  // schema cookie
  PutBigEnd32(kSchemaFormat, out + 44);
  PutBigEnd32(kUtf8, out + 56);
  PutBigEnd32(1, out + 92);  // the change counter again: the page count is valid
  PutBigEnd32(kLibraryVersion, out + 96);
}

}  // namespace

void PutBigEnd16(uint32_t value, char* out) {
  out[0] = static_cast<char>((value >> 8U) & 0xFFU);
  out[1] = static_cast<char>(value & 0xFFU);
}

void PutBigEnd32(uint32_t value, char* out) {
  PutBigEnd16(value >> 16U, out);
  PutBigEnd16(value & 0xFFFFU, out + 2);
}

TreePage::TreePage(Kind kind, size_t begin)
    : kind_(kind),
      begin_(begin),
      pointers_begin_(begin + (IsInterior(kind) ? 12 : 8)),
      pointers_end_(pointers_begin_),
      page_(kPageBytes, '\0') {}

char* TreePage::Add(size_t cell_bytes) {
  content_ -= cell_bytes;
  last_bytes_ = cell_bytes;
  PutBigEnd16(static_cast<uint32_t>(content_), &page_[pointers_end_]);
  pointers_end_ += 2;
  return &page_[content_];
}

std::string TreePage::TakeLast() {
  std::string cell = page_.substr(content_, last_bytes_);
  content_ += last_bytes_;
  pointers_end_ -= 2;
  return cell;
}

std::string_view TreePage::Finish(uint32_t right_child) {
  char* const header = &page_[begin_];
  header[0] = static_cast<char>(kind_);
  PutBigEnd16(0, header + 1);  // no free blocks
  PutBigEnd16(static_cast<uint32_t>((pointers_end_ - pointers_begin_) / 2), header + 3);
  PutBigEnd16(static_cast<uint32_t>(content_), header + 5);
  header[7] = 0;
  if (IsInterior(kind_)) PutBigEnd32(right_child, header + 8);
  // What an earlier use of the page left between pointers and cells goes.
  std::memset(&page_[pointers_end_], 0, content_ - pointers_end_);
  return page_;
}

void TreePage::Clear() {
  pointers_end_ = pointers_begin_;
  content_ = kPageBytes;
}

Result<std::unique_ptr<PageFile>> PageFile::Create(const std::string& path) {
  std::unique_ptr<PageFile> file(new PageFile(path));
  SONDE_ASSIGN_OR_RETURN(file->descriptor_, base::CreateNewFile(path, 0666));
  file->buffer_.assign(kPageBytes, '\0');
  return file;
}

PageFile::~PageFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

uint32_t PageFile::TakeNumber() {
  if (++page_count_ == kLockPage) {
    buffer_.append(kPageBytes, '\0');
    ++page_count_;
  }
  return page_count_;
}

void PageFile::WriteBuffer(std::unique_lock<std::mutex> lock) {
  std::string full = std::exchange(buffer_, std::exchange(spare_, {}));
  const auto end = static_cast<off_t>(page_count_) * kPageBytes;
  if (!first_error_.ok()) return;
  lock.unlock();
  Status written = WriteAt(descriptor_, full, end - static_cast<off_t>(full.size()), path_);
  full.clear();
  lock.lock();
  if (first_error_.ok()) first_error_ = std::move(written);
  spare_ = std::move(full);
}

uint32_t PageFile::Append(std::string_view page) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint32_t number = TakeNumber();
  buffer_.append(page);
  if (buffer_.size() >= kBufferBytes) WriteBuffer(std::move(lock));
  return number;
}

uint32_t PageFile::AppendOverflow(std::string_view rest) {
  constexpr size_t kRoom = kPageBytes - 4;
  std::unique_lock<std::mutex> lock(mutex_);
  uint32_t begin = 0;
  while (!rest.empty()) {
    const uint32_t number = TakeNumber();
    if (begin == 0) begin = number;
    const uint32_t next = number + 1 == kLockPage ? number + 2 : number + 1;
    const std::string_view part = rest.substr(0, kRoom);
    rest.remove_prefix(part.size());
    char link[4];
    PutBigEnd32(rest.empty() ? 0 : next, link);
    buffer_.append(link, sizeof link);
    buffer_.append(part);
    buffer_.append(kRoom - part.size(), '\0');
  }
  if (buffer_.size() >= kBufferBytes) WriteBuffer(std::move(lock));
  return begin;
}

Status PageFile::WriteFirstPage(const std::vector<SchemaEntry>& schema) {
  TreePage page(TreePage::Kind::kTableLeaf, kFileHeaderBytes);
  Record record;
  std::string head;
  for (size_t i = 0; i < schema.size(); ++i) {
    const SchemaEntry& entry = schema[i];
    record.Clear();
    record.Text(entry.type);
    record.Text(entry.name);
    record.Text(entry.table);
    record.Int(entry.root);
    if (entry.sql.empty()) {
      record.Null();
    } else {
      record.Text(entry.sql);
    }
    head.clear();
    AppendVarint(record.size(), &head);
    AppendVarint(i + 1, &head);
    AppendVarint(record.header_bytes(), &head);
    head.append(record.types());
    const size_t bytes = head.size() + record.body().size();
    if (!page.Fits(bytes)) return base::InternalError("the schema does not fit on its page");
    char* const cell = page.Add(bytes);
    std::memcpy(cell, head.data(), head.size());
    std::memcpy(cell + head.size(), record.body().data(), record.body().size());
  }
  std::string image(page.Finish());
  FillFileHeader(page_count_, image.data());
  return WriteAt(descriptor_, image, 0, path_);
}

Status PageFile::Finish(const std::vector<SchemaEntry>& schema) {
  WriteBuffer(std::unique_lock<std::mutex>(mutex_));
  SONDE_RETURN_IF_ERROR(first_error_);
  SONDE_RETURN_IF_ERROR(WriteFirstPage(schema));
  const int code = ::close(std::exchange(descriptor_, -1));
  return code == 0 ? Status::Ok() : base::ErrnoStatus(errno, "close", path_);
}

}  // namespace sonde::precision::sqlite
