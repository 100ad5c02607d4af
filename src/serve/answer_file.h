// A file that is the body of an answer, sent piece by piece: however long it is and however slow
// its reader, memory holds one piece.
//
// Threads: any. Errors: Status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace sonde::serve {

class AnswerFile {
 public:
  // Takes the name from the file, so that its space is free when the object goes, also where the
  // program is killed. kOutOfRange where it has more than `most` bytes.
  static Result<std::shared_ptr<const AnswerFile>> TakeOver(const std::string& path, uint64_t most);
  AnswerFile(const AnswerFile&) = delete;
  AnswerFile& operator=(const AnswerFile&) = delete;
  ~AnswerFile();

  uint64_t size() const { return size_; }
  // All of `to`, from `offset` on; false where the file does not give it.
  bool Read(uint64_t offset, std::span<char> to) const;

 private:
  AnswerFile(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  int descriptor_;
  uint64_t size_;
};

}  // namespace sonde::serve
