#include "importers/trace_events/source.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {
namespace {

constexpr size_t kForgetBytes = size_t{4} << 20U;

class MappedSource : public TextSource {
 public:
  explicit MappedSource(base::MappedFile file) : file_(std::move(file)) {
    window_ = {file_.text().data(), file_.text().data() + file_.size(), 0, true};
  }

  Status Advance(const char* position) override {
    window_.offset += static_cast<uint64_t>(position - window_.begin);
    window_.begin = position;
    return {};
  }

  void Forget(const char* position) override {
    const auto offset = static_cast<size_t>(position - file_.text().data());
    if (offset < forgotten_ + kForgetBytes) return;
    file_.Forget(forgotten_, offset - forgotten_);
    forgotten_ = offset;
  }

  void ForgetPiece(const char* begin, const char* end) const override {
    file_.Forget(static_cast<size_t>(begin - file_.text().data()),
                 static_cast<size_t>(end - begin));
  }

  size_t Copy(uint64_t offset, std::span<char> to) const override {
    return file_.CopyTo(offset, to);
  }
  bool packed() const override { return false; }

 private:
  base::MappedFile file_;
  size_t forgotten_ = 0;
};

class GzipSource : public TextSource {
 public:
  static Result<std::unique_ptr<TextSource>> Open(base::MappedFile file, const std::string& path,
                                                  store::ImportIssues& issues) {
    std::unique_ptr<GzipSource> source(new GzipSource(std::move(file), path, issues));
    if (inflateInit2(&source->stream_, kGzipWindow) != Z_OK) {
      return base::InternalError(base::Concat("cannot unpack '", path, "'"));
    }
    source->initialised_ = true;
    return std::unique_ptr<TextSource>(std::move(source));
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override {
    if (initialised_) inflateEnd(&stream_);
  }

  Status Advance(const char* position) override {
    const auto kept = static_cast<size_t>(window_.end - position);
    window_.offset += static_cast<uint64_t>(position - window_.begin);
    if (kept >= kMaxBytes) {
      issues_.Add(kHugeValue, path_, static_cast<int64_t>(window_.offset));
      window_.begin = window_.end;
      window_.last = true;
      return {};
    }
    // A value larger than the buffer makes it grow; else the rest moves to the front.
    std::vector<char> old;
    if (buffer_.empty() || kept * 2 > buffer_.size()) {
      old.swap(buffer_);
      buffer_.resize(std::max(kBufferBytes, kept * 4));
    }
    if (kept > 0) std::memmove(buffer_.data(), position, kept);
    window_.begin = buffer_.data();
    window_.end = buffer_.data() + kept + Fill(kept);
    return {};
  }

  void Forget(const char* /*position*/) override {}
  void ForgetPiece(const char* /*begin*/, const char* /*end*/) const override {}
  size_t Copy(uint64_t /*offset*/, std::span<char> /*to*/) const override { return 0; }
  bool packed() const override { return true; }

 private:
  static constexpr int kGzipWindow = 15 + 16;
  static constexpr size_t kBufferBytes = size_t{4} << 20U;
  static constexpr size_t kMaxBytes = size_t{256} << 20U;
  // Traces pack at most about 40 : 1; deflate reaches 1032 : 1.
  static constexpr uint64_t kMaxRatio = 400;
  static constexpr uint64_t kAlwaysFine = uint64_t{1} << 30U;

  GzipSource(base::MappedFile file, std::string path, store::ImportIssues& issues)
      : file_(std::move(file)), path_(std::move(path)), issues_(issues) {}

  // Unpacks behind the first `kept` bytes; sets window_.last.
  size_t Fill(size_t kept) {
    size_t filled = kept;
    while (filled < buffer_.size() && !window_.last) {
      if (stream_.avail_in == 0) FeedInput();
      const size_t room = std::min<size_t>(buffer_.size() - filled, uint32_t{1} << 30U);
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data() + filled);
      stream_.avail_out = static_cast<uInt>(room);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const size_t got = room - stream_.avail_out;
      filled += got;
      unpacked_ += got;
      Judge(result);
    }
    return filled - kept;
  }

  void FeedInput() {
    const size_t size = std::min<size_t>(file_.size() - fed_, uint32_t{1} << 30U);
    stream_.next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(file_.data() + fed_));  // zlib's signature
    stream_.avail_in = static_cast<uInt>(size);
    fed_ += size;
  }

  void Judge(int result) {
    const size_t taken = fed_ - stream_.avail_in;
    if (result == Z_STREAM_END) {
      // Another member may follow; anything else behind the end is padding.
      const bool more = taken + 2 <= file_.size() && file_.data()[taken] == std::byte{0x1f} &&
                        file_.data()[taken + 1] == std::byte{0x8b};
      const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
      if (!more && std::any_of(file_.data() + taken, file_.data() + file_.size(), is_set)) {
        issues_.Add(kBehindPacked, path_, static_cast<int64_t>(taken));
      }
      window_.last = !more || inflateReset(&stream_) != Z_OK;
    } else if (result != Z_OK ||
               (stream_.avail_in == 0 && fed_ == file_.size() && stream_.avail_out > 0)) {
      issues_.Add(kPackedEnd, path_, static_cast<int64_t>(taken));
      window_.last = true;
    } else if (unpacked_ > kAlwaysFine && unpacked_ / kMaxRatio > taken) {
      issues_.Add(kPackedBomb, path_, static_cast<int64_t>(taken));
      window_.last = true;
    }
  }

  base::MappedFile file_;
  std::string path_;
  store::ImportIssues& issues_;
  z_stream stream_ = {};
  bool initialised_ = false;
  size_t fed_ = 0;
  uint64_t unpacked_ = 0;
  std::vector<char> buffer_;
};

}  // namespace

Result<std::unique_ptr<TextSource>> TextSource::Open(const std::string& path,
                                                     store::ImportIssues& issues) {
  if (base::IsDirectory(path)) {
    return base::InvalidArgumentError(base::Concat("'", path, "' is a folder, not a trace file"));
  }
  SONDE_ASSIGN_OR_RETURN(base::MappedFile file,
                         base::MappedFile::Open(path, base::MappedFile::Access::kCopies));
  const bool packed =
      file.size() >= 2 && file.data()[0] == std::byte{0x1f} && file.data()[1] == std::byte{0x8b};
  if (packed) return GzipSource::Open(std::move(file), path, issues);
  return std::unique_ptr<TextSource>(std::make_unique<MappedSource>(std::move(file)));
}

}  // namespace sonde::importers::trace_events
