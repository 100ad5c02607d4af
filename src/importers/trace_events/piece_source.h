// A part of a plain file, read through a small buffer that stays in the processor's cache: a copy
// of the whole part would leave the cache before it is parsed.
//
// One for each reader, for one part after another. Threads: one at a time; the file's source may be
// shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "importers/trace_events/source.h"

namespace sonde::importers::trace_events {

class PieceSource : public TextSource {
 public:
  // `file` must outlive it.
  explicit PieceSource(const TextSource& file) : file_(file) {}

  // The text from `begin` to `end`, offsets in the file, both at most its size.
  void Open(uint64_t begin, uint64_t end);

  Status Advance(const char* position) override;
  void Forget(const char* /*position*/) override {}
  void ForgetPiece(const char* /*begin*/, const char* /*end*/) const override {}
  size_t Copy(uint64_t offset, std::span<char> to) const override { return file_.Copy(offset, to); }
  bool packed() const override { return false; }

 private:
  void Fill(size_t kept);

  const TextSource& file_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  uint64_t end_ = 0;
};

}  // namespace sonde::importers::trace_events
