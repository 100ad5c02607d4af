#include "probe/torch_file.h"

#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"
#include "probe/checksum.h"
#include "probe/copy_visitor.h"

namespace sonde::probe {
namespace {

using base::Concat;

// Where torch itself aligns the elements, so that a mapped file can be used in place.
constexpr size_t kAlignment = 64;
constexpr uint32_t kWide = 0xffffffff;  // the number is in the extra field
constexpr uint16_t kZip64Version = 45;
constexpr mode_t kFileMode = 0666;  // less the umask

template <class T>
void AppendLe(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  base::StoreLe(bytes.data(), value);
  out.append(bytes.data(), bytes.size());
}

// --- The pickle program ------------------------------------------------------------------------

// torch keeps an old storage class for these; for the others it names the type in addition to the
// bytes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kStorageClasses = {{
    {"bool", "BoolStorage"},
    {"int8", "CharStorage"},
    {"int16", "ShortStorage"},
    {"int32", "IntStorage"},
    {"int64", "LongStorage"},
    {"uint8", "ByteStorage"},
    {"float16", "HalfStorage"},
    {"bfloat16", "BFloat16Storage"},
    {"float32", "FloatStorage"},
    {"float64", "DoubleStorage"},
    {"complex32", "ComplexHalfStorage"},
    {"complex64", "ComplexFloatStorage"},
    {"complex128", "ComplexDoubleStorage"},
}};

class Pickle {
 public:
  Pickle() { code_.assign("\x80\x02", 2); }
  void Global(std::string_view module, std::string_view name) {
    code_.append("c").append(module).append("\n").append(name).append("\n");
  }
  void Mark() { code_.push_back('('); }
  void Tuple() { code_.push_back('t'); }
  void Text(std::string_view text) {
    code_.push_back('X');
    AppendLe(code_, static_cast<uint32_t>(text.size()));
    code_.append(text);
  }
  void Integer(int64_t value) {
    if (value >= 0 && value < std::numeric_limits<int32_t>::max()) {
      code_.push_back('J');
      AppendLe(code_, static_cast<int32_t>(value));
    } else {
      code_.append("\x8a\x08");
      AppendLe(code_, value);
    }
  }
  void Integers(std::span<const int64_t> values) {
    Mark();
    for (const int64_t value : values) Integer(value);
    Tuple();
  }
  void Raw(std::string_view code) { code_.append(code); }
  std::string Take() { return std::move(code_); }

 private:
  std::string code_;
};

std::vector<int64_t> RowMajorStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

// Rebuild(storage, offset 0, size, stride, requires_grad False, hooks[, dtype]).
std::string TensorPickle(const TensorView& view, std::string_view dtype) {
  const auto* const known = std::find_if(kStorageClasses.begin(), kStorageClasses.end(),
                                         [&](const auto& entry) { return entry.first == dtype; });
  const bool has_class = known != kStorageClasses.end();
  const size_t count = view.Count();
  Pickle pickle;
  pickle.Global("torch._utils", has_class ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickle.Mark();
  pickle.Mark();
  pickle.Text("storage");
  if (has_class) {
    pickle.Global("torch", known->second);
  } else {
    pickle.Global("torch.storage", "UntypedStorage");
  }
  pickle.Text("0");
  pickle.Text("cpu");
  pickle.Integer(static_cast<int64_t>(has_class ? count : count * view.element_bytes));
  pickle.Tuple();
  pickle.Raw("Q");  // as torch.load() resolves it for this tuple
  pickle.Integer(0);
  pickle.Integers(view.shape);
  pickle.Integers(RowMajorStrides(view.shape));
  pickle.Raw("\x89");  // False
  pickle.Global("collections", "OrderedDict");
  pickle.Raw(")R");
  if (!has_class) pickle.Global("torch", dtype);
  pickle.Tuple();
  pickle.Raw("R.");
  return pickle.Take();
}

// --- The archive -------------------------------------------------------------------------------

struct Record {
  std::string name;
  uint32_t crc = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  bool is_wide = false;         // its size does not fit into 32 bits
  bool is_offset_wide = false;  // nor does its offset
};

// The common part of the local and the central header of a stored record.
void AppendCommonHeader(std::string& out, const Record& record, size_t extra_bytes) {
  const bool is_zip64 = record.is_wide || record.is_offset_wide;
  const uint32_t bytes = record.is_wide ? kWide : static_cast<uint32_t>(record.bytes);
  AppendLe<uint16_t>(out, is_zip64 ? kZip64Version : 0);  // version needed
  AppendLe<uint16_t>(out, 0x0800);                        // names are UTF-8
  AppendLe<uint16_t>(out, 0);                             // stored
  AppendLe<uint16_t>(out, 0);                             // time
  AppendLe<uint16_t>(out, 0x21);  // 1980-01-01: equal tensors give equal files
  AppendLe(out, record.crc);
  AppendLe(out, bytes);
  AppendLe(out, bytes);
  AppendLe(out, static_cast<uint16_t>(record.name.size()));
  AppendLe(out, static_cast<uint16_t>(extra_bytes));
}

// The extra field with the wide numbers; empty where there are none.
std::string WideField(const Record& record, bool with_offset) {
  std::string numbers;
  if (record.is_wide) {
    AppendLe(numbers, record.bytes);
    AppendLe(numbers, record.bytes);
  }
  if (with_offset && record.is_offset_wide) AppendLe(numbers, record.offset);
  if (numbers.empty()) return numbers;
  std::string field;
  AppendLe<uint16_t>(field, 1);
  AppendLe(field, static_cast<uint16_t>(numbers.size()));
  return field.append(numbers);
}

class Archive {
 public:
  // Sizes and offsets from `wide_from` on are written as zip64.
  explicit Archive(uint64_t wide_from) : wide_from_(wide_from) {}

  // Appends the header of a record whose bytes the caller writes next; `aligned`: at kAlignment.
  void Begin(std::string& out, size_t position, std::string_view name, uint32_t crc, size_t bytes,
             bool aligned) {
    Record record = {.name = Concat("archive/", name),
                     .crc = crc,
                     .bytes = bytes,
                     .offset = position,
                     .is_wide = bytes >= wide_from_,
                     .is_offset_wide = position >= wide_from_};
    const std::string wide = WideField(record, false);
    const size_t data = position + kLocalHeaderBytes + record.name.size() + wide.size();
    size_t padding = 0;
    if (aligned) {
      padding = kExtraHeaderBytes;
      padding += (kAlignment - (data + padding) % kAlignment) % kAlignment;
    }
    out.append("PK\x03\x04");
    AppendCommonHeader(out, record, wide.size() + padding);
    out.append(record.name).append(wide);
    if (aligned) {
      out.append("FB");  // torch's mark for padding
      AppendLe(out, static_cast<uint16_t>(padding - kExtraHeaderBytes));
      out.append(padding - kExtraHeaderBytes, 'Z');
    }
    records_.push_back(std::move(record));
  }
  void AddSmall(std::string& out, size_t base, std::string_view name, std::string_view text) {
    const uint32_t crc = Crc32(0, text.data(), text.size());
    Begin(out, base + out.size(), name, crc, text.size(), false);
    out.append(text);
  }
  void End(std::string& out, size_t base) const {
    const uint64_t begin = base + out.size();
    for (const Record& record : records_) {
      const std::string wide = WideField(record, true);
      out.append("PK\x01\x02");
      AppendLe<uint16_t>(out, 0);  // made by
      AppendCommonHeader(out, record, wide.size());
      out.append(10, '\0');  // comment, disk, attributes
      AppendLe(out, record.is_offset_wide ? kWide : static_cast<uint32_t>(record.offset));
      out.append(record.name).append(wide);
    }
    const uint64_t size = base + out.size() - begin;
    const bool is_wide = begin >= wide_from_;
    if (is_wide) AppendWideEnd(out, begin, size);
    out.append("PK\x05\x06").append(4, '\0');
    AppendLe(out, static_cast<uint16_t>(records_.size()));
    AppendLe(out, static_cast<uint16_t>(records_.size()));
    AppendLe(out, static_cast<uint32_t>(size));
    AppendLe(out, is_wide ? kWide : static_cast<uint32_t>(begin));
    AppendLe<uint16_t>(out, 0);
  }

 private:
  static constexpr size_t kLocalHeaderBytes = 30;
  static constexpr size_t kExtraHeaderBytes = 4;
  static constexpr uint64_t kWideEndBytes = 44;  // behind its own length

  // The directory's place with 64 bits, and the locator of that record.
  void AppendWideEnd(std::string& out, uint64_t begin, uint64_t size) const {
    const uint64_t count = records_.size();
    out.append("PK\x06\x06");
    AppendLe(out, kWideEndBytes);
    AppendLe(out, kZip64Version);  // made by, needed
    AppendLe(out, kZip64Version);
    out.append(8, '\0');  // disks
    for (const uint64_t number : {count, count, size, begin}) AppendLe(out, number);
    out.append("PK\x06\x07").append(4, '\0');
    AppendLe(out, begin + size);
    AppendLe<uint32_t>(out, 1);
  }

  const uint64_t wide_from_;
  std::vector<Record> records_;
};

// --- Writing -----------------------------------------------------------------------------------

Status WriteAll(int descriptor, std::span<iovec> pieces, const std::string& path) {
  while (!pieces.empty()) {
    const ssize_t written = writev(descriptor, pieces.data(), static_cast<int>(pieces.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::ErrnoStatus(errno, "write", path);
    auto left = static_cast<size_t>(written);
    while (!pieces.empty() && left >= pieces.front().iov_len) {
      left -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) break;
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + left;
    pieces.front().iov_len -= left;
  }
  return Status::Ok();
}

Status WriteParts(const std::string& path, std::string& lead, std::span<const std::byte> data,
                  std::string& trail) {
  SONDE_ASSIGN_OR_RETURN(const int descriptor, base::RecreateFile(path, kFileMode));
  std::array<iovec, 3> pieces = {{{lead.data(), lead.size()},
                                  {const_cast<std::byte*>(data.data()), data.size()},
                                  {trail.data(), trail.size()}}};
  Status status = WriteAll(descriptor, pieces, path);
  if (close(descriptor) != 0 && status.ok()) status = base::ErrnoStatus(errno, "write", path);
  if (!status.ok()) unlink(path.c_str());
  return status;
}

// The elements side by side: the tensor's own memory, or a copy that `owner` keeps.
std::span<const std::byte> RowMajorBytes(const TensorView& view,
                                         std::unique_ptr<std::byte[]>& owner) {
  const size_t size = view.Count() * view.element_bytes;
  if (view.IsContiguous()) return {static_cast<const std::byte*>(view.data), size};
  owner = std::make_unique_for_overwrite<std::byte[]>(size);
  CopyVisitor visitor(owner.get(), view.element_bytes);
  VisitInOrder(view, visitor);
  return {owner.get(), size};
}

}  // namespace

Status WriteTorchFile(const std::string& path, const TensorView& view, std::string_view dtype,
                      uint64_t wide_from) {
  std::unique_ptr<std::byte[]> owner;
  const std::span<const std::byte> data = RowMajorBytes(view, owner);
  Archive archive(wide_from);
  std::string lead;
  archive.AddSmall(lead, 0, "data.pkl", TensorPickle(view, dtype));
  archive.AddSmall(lead, 0, "byteorder", "little");
  archive.Begin(lead, lead.size(), "data/0", Crc32(0, data.data(), data.size()), data.size(), true);
  std::string trail;
  const size_t base = lead.size() + data.size();
  archive.AddSmall(trail, base, "version", "3\n");
  archive.End(trail, base);
  return WriteParts(path, lead, data, trail);
}

}  // namespace sonde::probe
