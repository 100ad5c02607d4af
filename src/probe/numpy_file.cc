#include "probe/numpy_file.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::probe {
namespace {

using base::Concat;
using base::ErrnoStatus;

constexpr size_t kAlignment = 64;
constexpr size_t kPreludeBytes = 10;  // magic, version, length of the header
constexpr size_t kBufferElements = 4096;
constexpr mode_t kFileMode = 0666;  // less the umask

std::string_view TypeText(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
    case ElementType::kBFloat16:
      return "<f4";
    case ElementType::kFloat64:
      return "<f8";
    case ElementType::kFloat16:
      return "<f2";
    case ElementType::kInt8:
      return "|i1";
    case ElementType::kInt16:
      return "<i2";
    case ElementType::kInt32:
      return "<i4";
    case ElementType::kInt64:
      return "<i8";
    case ElementType::kFloat8:
    case ElementType::kUInt8:
      return "|u1";
    case ElementType::kUInt16:
      return "<u2";
    case ElementType::kUInt32:
      return "<u4";
    case ElementType::kUInt64:
      return "<u8";
    case ElementType::kBool:
      return "|b1";
    case ElementType::kComplex64:
      return "<c8";
    case ElementType::kComplex128:
      return "<c16";
    case ElementType::kOther:
      break;
  }
  return {};
}

// As Python prints a tuple: "5," and "2, 3".
std::string ShapeText(const TensorView& view) {
  std::string text;
  for (size_t dim = 0; dim < view.shape.size(); dim++) {
    if (dim > 0) text.append(", ");
    text.append(std::to_string(view.shape[dim]));
  }
  if (view.shape.size() == 1) text.push_back(',');
  return text;
}

std::string Header(const TensorView& view) {
  std::string text = Concat("{'descr': '", TypeText(view.type),
                            "', 'fortran_order': False, 'shape': (", ShapeText(view), "), }");
  const size_t rest = (kPreludeBytes + text.size() + 1) % kAlignment;
  if (rest != 0) text.append(kAlignment - rest, ' ');
  text.push_back('\n');
  std::string out("\x93NUMPY\x01\0", 8);
  out.push_back(static_cast<char>(text.size() & 0xff));
  out.push_back(static_cast<char>(text.size() >> 8));
  return out.append(text);
}

// Writes the elements to a file, widened where numpy has no such type.
class FileVisitor : public PieceVisitor {
 public:
  FileVisitor(std::FILE* file, const TensorView& view) : file_(file), view_(view) {}
  void Visit(const void* data, size_t count) override {
    if (view_.type == ElementType::kBFloat16) return Widen(static_cast<const char*>(data), count);
    is_fine_ = is_fine_ && std::fwrite(data, view_.element_bytes, count, file_) == count;
  }
  bool is_fine() const { return is_fine_; }

 private:
  void Widen(const char* data, size_t count) {
    std::array<uint32_t, kBufferElements> buffer;
    while (count > 0 && is_fine_) {
      const size_t some = std::min(count, buffer.size());
      for (size_t i = 0; i < some; i++) {
        uint16_t bits = 0;
        std::memcpy(&bits, data + 2 * i, sizeof(bits));
        buffer[i] = uint32_t{bits} << 16;
      }
      is_fine_ = std::fwrite(buffer.data(), sizeof(uint32_t), some, file_) == some;
      data += 2 * some;
      count -= some;
    }
  }

  std::FILE* file_;
  const TensorView& view_;
  bool is_fine_ = true;
};

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Status WriteNumpyFile(const std::string& path, const TensorView& view) {
  if (TypeText(view.type).empty()) {
    return base::UnimplementedError(Concat("'", path, "' is not written: numpy has no such type"));
  }
  SONDE_ASSIGN_OR_RETURN(const int descriptor, base::RecreateFile(path, kFileMode));
  std::unique_ptr<std::FILE, Closer> file(fdopen(descriptor, "wb"));
  if (!file) {
    const int error = errno;
    close(descriptor);
    return ErrnoStatus(error, "create", path);
  }
  const std::string header = Header(view);
  FileVisitor visitor(file.get(), view);
  const bool has_header = std::fwrite(header.data(), 1, header.size(), file.get()) == header.size();
  if (has_header) VisitInOrder(view, visitor);
  if (has_header && visitor.is_fine() && std::fclose(file.release()) == 0) return Status::Ok();
  const int error = errno;
  file.reset();
  std::remove(path.c_str());
  return ErrnoStatus(error, "write", path);
}

}  // namespace sonde::probe
