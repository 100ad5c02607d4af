// Turns the arguments and results of a call into the JSON text of the dump, and saves tensors on
// the way.
//
// Plain tensors, numbers, texts and containers are rendered here; everything else is passed to the
// Python function `describe(value, key, is_saved)`, which returns None (rendered as null) or a
// tuple; `is_saved`: tensors of this value go to files.
//   ("plain", value)             a value of JSON types, rendered as it is
//   ("bad", value)               the same of a tensor that has NaN or infinity
//   ("waits", value)             the same with marks in the place of numbers; see
//                                probe/entry_file.h
//   ("walk", container)          a dict, list or tuple to render in its place
//   ("fields", dict)            the same for a dict whose keys are no part of names of files
//   ("array", record, tensor)    a dict of JSON types; the tensor is saved, if tensors are, and the
//                                dict then gets the name of its file
//   ("tensor", tensor, type, extra, requires_grad)   a tensor in host memory to render in its
//                                place; `type` is the text of its record, `extra` a dict of further
//                                fields or None
// Threads: the GIL. Errors: false and a Python exception.
#ifndef SONDE_ADAPT_PROBE_RENDERER_H_
#define SONDE_ADAPT_PROBE_RENDERER_H_

#include <functional>
#include <string>
#include <string_view>

#include "adapt/probe/tensor_reader.h"
#include "probe/statistics.h"

namespace sonde::adapt {

// kCheck: nothing is written, but NaN and infinity are looked for.
enum class SummaryMode : uint8_t { kStatistics, kCrc32, kXor, kNone, kCheck };

struct RenderOptions {
  SummaryMode summary = SummaryMode::kStatistics;
  probe::StatisticsOptions statistics;
  std::string extension = ".pt";  // of files of tensors
  PyObject* describe = nullptr;
  PyObject* fetch = nullptr;  // fetch() gives (index of the first, list of numbers) for the marks
  std::string mark;           // of numbers that are not there yet
  PyObject* slice = nullptr;  // called with every tensor and gives the one to record, if set
};

// Where a tensor is saved; nothing when `save` is empty.
using SaveTensor = std::function<bool(const std::string& name, const ReadTensor& tensor)>;

class Renderer {
 public:
  Renderer(const PythonCalls& calls, TensorReader& reader, const RenderOptions& options)
      : calls_(calls), reader_(reader), options_(options) {}

  // Appends the text of `value`, whose first line has the indentation `depth`, to `out`. Files of
  // tensors are named `path`, continued by the place of the tensor within the value.
  bool Render(PyObject* value, size_t depth, const std::string& path, const SaveTensor& save,
              std::string& out);
  // The same of an array of values, as a list, and of keyword arguments (a tuple of names, or
  // nullptr, and their values), as an object.
  bool RenderValues(PyObject* const* values, size_t count, size_t depth, const std::string& path,
                    const SaveTensor& save, std::string& out);
  bool RenderKeywords(PyObject* names, PyObject* const* values, size_t depth,
                      const std::string& path, const SaveTensor& save, std::string& out);
  // Whether a tensor had NaN or infinity; not known in the modes kXor and kNone.
  bool found_bad() const { return found_bad_; }
  // Whether the text has marks.
  bool waits() const { return waits_; }
  // A value of JSON types as it is.
  bool RenderPlain(PyObject* value, size_t depth, std::string& out) {
    out_ = &out;
    return Plain(value, depth);
  }

 private:
  struct Place {
    size_t depth;
    size_t level;             // containers around
    PyObject* key = nullptr;  // of the dict entry, if it is one
  };
  void Begin(const std::string& path, const SaveTensor& save, std::string& out);
  bool Value(PyObject* value, Place place);
  bool Scalar(PyObject* value, size_t depth);
  bool List(PyObject* sequence, bool is_tuple, Place place);
  bool Dict(PyObject* dict, Place place, bool has_steps = true);
  bool Described(PyObject* value, Place place);
  bool DescribedTensor(PyObject* answer, Place place);
  bool DescribedArray(PyObject* answer, size_t depth);
  bool Tensor(PyObject* tensor, Place place);
  bool Plain(PyObject* value, size_t depth);
  bool PlainEntries(PyObject* value, size_t depth, bool is_dict);
  bool Key(PyObject* key, std::string& text);
  bool IsSpecialKey(PyObject* key) const;
  struct Labels {
    std::string_view type = "torch.Tensor";
    PyObject* extra = nullptr;  // dict or nullptr
  };
  bool TensorRecord(const ReadTensor& tensor, const Labels& labels, size_t depth);
  void Summary(const ReadTensor& tensor, size_t depth);
  bool Fail(const char* text);

  const PythonCalls& calls_;
  TensorReader& reader_;
  const RenderOptions& options_;
  const SaveTensor* save_ = nullptr;
  std::string path_;
  std::string* out_ = nullptr;
  bool found_bad_ = false;
  bool waits_ = false;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_RENDERER_H_
