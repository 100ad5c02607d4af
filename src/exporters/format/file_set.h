// Writes several large text files at once, each made of pieces that are formatted in parallel and
// written in order.
//
//   FileSet files(folder);
//   files.Add("trace_view.json", 1000, [&](size_t piece, LineBuffer& out) { ... });
//   SONDE_RETURN_IF_ERROR(files.Write(threads));
//
// Threads take pieces in the order in which they were added; a piece that is ready before its
// predecessors waits in memory, so about one piece a thread is held. Files appear complete or not
// at all, and their bytes do not depend on the number of threads.
// Errors: the first failed file; the others are finished or removed. One thread a FileSet; the
// functions given to Add() are called from any.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "exporters/format/line_buffer.h"

namespace sonde::exporters {

class FileSet {
 public:
  using Piece = std::function<void(size_t index, LineBuffer& out)>;

  explicit FileSet(std::string folder) : folder_(std::move(folder)) {}

  // Nothing is written before Write(); what `piece` refers to must live until then.
  void Add(std::string name, size_t pieces, Piece piece) {
    files_.push_back({std::move(name), pieces, std::move(piece)});
  }
  // Takes the files of another set, to be written behind those of this one.
  void Append(FileSet other) {
    for (File& file : other.files_) files_.push_back(std::move(file));
  }
  Status Write(int threads);

 private:
  struct File {
    std::string name;
    size_t pieces;
    Piece piece;
  };
  std::string folder_;
  std::vector<File> files_;
};

}  // namespace sonde::exporters
