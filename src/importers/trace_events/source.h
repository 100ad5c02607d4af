// Text of a file as windows in memory: a plain file is mapped whole, a gzip file unpacked piece by
// piece.
//
// A window is the part of the text in memory; Advance releases its begin and adds text behind its
// end, so that a value that was cut at the end is complete in the next one. Threads: one at a time.
// The file's content decides its format, not its name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "store/import_issues.h"

namespace sonde::importers::trace_events {

struct Window {
  const char* begin = nullptr;
  const char* end = nullptr;
  uint64_t offset = 0;  // of `begin` in the (unpacked) file
  bool last = false;    // nothing follows
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  // Fails where the file cannot be read at all.
  static Result<std::unique_ptr<TextSource>> Open(const std::string& path,
                                                  store::ImportIssues& issues);
  // The window now; empty before the first Advance of a packed file.
  const Window& window() const { return window_; }
  // [begin, position) is not needed any more. The next window begins at `position` and holds more
  // than this one did behind it, unless it is the last.
  virtual Status Advance(const char* position) = 0;
  // Allows pages before `position` to leave memory; cheap.
  virtual void Forget(const char* position) = 0;
  // The same for a piece in the middle of a plain file; any thread.
  virtual void ForgetPiece(const char* begin, const char* end) const = 0;
  // Copies text of a plain file from there on: mapped pages cost more, most of all with other
  // threads. Returns the number of bytes, less than `size` at the end of the file. Any thread.
  virtual size_t Copy(uint64_t offset, std::span<char> to) const = 0;
  virtual bool packed() const = 0;

 protected:
  Window window_;
};

}  // namespace sonde::importers::trace_events
