#include "adapt/probe/renderer.h"

#include <cmath>
#include <optional>

#include "base/strings.h"
#include "probe/checksum.h"
#include "probe/json_text.h"

namespace sonde::adapt {
namespace {

using probe::AppendLine;
using probe::AppendQuoted;
using probe::ElementType;

constexpr size_t kMaxLevels = 400;

// Continues the path of a tensor for the time of one element.
class PathStep {
 public:
  PathStep(std::string& path, std::string_view step) : path_(path), size_(path.size()) {
    path_.push_back('.');
    path_.append(step);
  }
  PathStep(std::string& path, size_t index) : path_(path), size_(path.size()) {
    base::NumberBuffer buffer;
    path_.push_back('.');
    path_.append(base::FormatUint64(index, buffer));
  }
  PathStep(const PathStep&) = delete;
  PathStep& operator=(const PathStep&) = delete;
  ~PathStep() { path_.resize(size_); }

 private:
  std::string& path_;
  size_t size_;
};

void AppendField(std::string& out, size_t depth, std::string_view name, bool is_first = false) {
  out.push_back(is_first ? '{' : ',');
  AppendLine(out, depth + 1);
  AppendQuoted(out, name);
  out.append(": ");
}

void AppendEnd(std::string& out, size_t depth, char end) {
  AppendLine(out, depth);
  out.push_back(end);
}

// The exclusive-or of a tensor without dimensions is its value.
std::string ScalarWord(const ReadTensor& tensor) {
  const probe::Statistics value = probe::ComputeStatistics(tensor.view, {});
  std::string text;
  if (value.max.kind == probe::Number::Kind::kFloat) {
    probe::AppendReal(text, value.max.real);
  } else {
    AppendQuoted(text, probe::HexWord(static_cast<uint64_t>(value.max.integer)));
  }
  return text;
}

}  // namespace

bool Renderer::Fail(const char* text) {
  calls_.raise(calls_.runtime_error, text);
  return false;
}

bool Renderer::Render(PyObject* value, size_t depth, const std::string& path,
                      const SaveTensor& save, std::string& out) {
  Begin(path, save, out);
  return Value(value, {.depth = depth, .level = 0});
}

void Renderer::Begin(const std::string& path, const SaveTensor& save, std::string& out) {
  path_ = path;
  save_ = &save;
  out_ = &out;
}

bool Renderer::RenderValues(PyObject* const* values, size_t count, size_t depth,
                            const std::string& path, const SaveTensor& save, std::string& out) {
  Begin(path, save, out);
  if (count == 0) {
    out.append("[]");
    return true;
  }
  for (size_t i = 0; i < count; i++) {
    const PathStep step(path_, i);
    out.push_back(i == 0 ? '[' : ',');
    AppendLine(out, depth + 1);
    if (!Value(values[i], {.depth = depth + 1, .level = 1})) return false;
  }
  AppendEnd(out, depth, ']');
  return true;
}

bool Renderer::RenderKeywords(PyObject* names, PyObject* const* values, size_t depth,
                              const std::string& path, const SaveTensor& save, std::string& out) {
  Begin(path, save, out);
  const intptr_t count = names != nullptr ? calls_.tuple_size(names) : 0;
  if (count == 0) {
    out.append("{}");
    return true;
  }
  for (intptr_t i = 0; i < count; i++) {
    PyObject* const key = calls_.tuple_get(names, i);
    std::string text;
    if (!Key(key, text)) return false;
    const PathStep step(path_, text);
    AppendField(out, depth, text, i == 0);
    if (!Value(values[i], {.depth = depth + 1, .level = 1, .key = key})) return false;
  }
  AppendEnd(out, depth, '}');
  return true;
}

bool Renderer::Value(PyObject* value, Place place) {
  if (place.level > kMaxLevels) return Fail("values are nested deeper than 400 levels");
  if (place.key != nullptr && IsSpecialKey(place.key)) return Described(value, place);
  if (value == calls_.none) {
    out_->append("null");
    return true;
  }
  PyObject* const type = value->type;
  if (reader_.IsPlainTensor(value)) return Tensor(value, place);
  if (type == calls_.tuple_type) return List(value, true, place);
  if (type == calls_.list_type) return List(value, false, place);
  if (type == calls_.dict_type) return Dict(value, place);
  if (type == calls_.bool_type || type == calls_.int_type || type == calls_.float_type ||
      type == calls_.text_type) {
    return Scalar(value, place.depth);
  }
  return Described(value, place);
}

bool Renderer::Scalar(PyObject* value, size_t depth) {
  std::string_view type = "str";
  if (value->type == calls_.bool_type) type = "bool";
  if (value->type == calls_.int_type) type = "int";
  if (value->type == calls_.float_type) type = "float";
  AppendField(*out_, depth, "type", true);
  AppendQuoted(*out_, type);
  AppendField(*out_, depth, "value");
  if (!Plain(value, depth + 1)) return false;
  AppendEnd(*out_, depth, '}');
  return true;
}

bool Renderer::List(PyObject* sequence, bool is_tuple, Place place) {
  // A list may change while describe() runs: its size is asked for each time.
  const auto size = [&] {
    return is_tuple ? calls_.tuple_size(sequence) : calls_.list_size(sequence);
  };
  if (size() == 0) {
    out_->append("[]");
    return true;
  }
  for (intptr_t i = 0; i < size(); i++) {
    PyObject* item = is_tuple ? calls_.tuple_get(sequence, i) : calls_.list_get(sequence, i);
    calls_.retain(item);
    const PyOwned keeper(calls_, item);
    const PathStep step(path_, static_cast<size_t>(i));
    out_->push_back(i == 0 ? '[' : ',');
    AppendLine(*out_, place.depth + 1);
    if (!Value(item, {.depth = place.depth + 1, .level = place.level + 1})) return false;
  }
  AppendEnd(*out_, place.depth, ']');
  return true;
}

bool Renderer::Dict(PyObject* dict, Place place, bool has_steps) {
  const PyOwned items(calls_, calls_.dict_items(dict));
  if (!items) return false;
  const intptr_t size = calls_.list_size(items.get());
  if (size == 0) {
    out_->append("{}");
    return true;
  }
  for (intptr_t i = 0; i < size; i++) {
    PyObject* item = calls_.list_get(items.get(), i);
    PyObject* key = calls_.tuple_get(item, 0);
    std::string text;
    if (!Key(key, text)) return false;
    std::optional<PathStep> step;
    if (has_steps) step.emplace(path_, text);
    AppendField(*out_, place.depth, text, i == 0);
    const Place inner = {.depth = place.depth + 1, .level = place.level + 1, .key = key};
    if (!Value(calls_.tuple_get(item, 1), inner)) return false;
  }
  AppendEnd(*out_, place.depth, '}');
  return true;
}

// As Python's json module names keys.
bool Renderer::Key(PyObject* key, std::string& text) {
  std::string_view view;
  if (key->type == calls_.text_type && TextOf(calls_, key, &view)) {
    text = view;
    return true;
  }
  if (key == calls_.none) {
    text = "null";
    return true;
  }
  if (key->type == calls_.bool_type) {
    text = key == calls_.true_object ? "true" : "false";
    return true;
  }
  const PyOwned shown(calls_, calls_.str(key));
  if (!shown) return false;
  if (TextOf(calls_, shown.get(), &view)) text = view;
  return true;
}

bool Renderer::IsSpecialKey(PyObject* key) const {
  std::string_view text;
  if (key->type != calls_.text_type || !TextOf(calls_, key, &text)) return false;
  return text == "dtype" || text == "output_dtype" || text == "device";
}

bool Renderer::Described(PyObject* value, Place place) {
  PyObject* const key = place.key != nullptr ? place.key : calls_.none;
  PyObject* const is_saved = *save_ ? calls_.true_object : calls_.false_object;
  const PyOwned answer(calls_, calls_.call(options_.describe, value, key, is_saved, nullptr));
  if (!answer) return false;
  if (answer.get() == calls_.none) {
    out_->append("null");
    return true;
  }
  std::string_view kind;
  if (answer.get()->type != calls_.tuple_type || calls_.tuple_size(answer.get()) < 2 ||
      !TextOf(calls_, calls_.tuple_get(answer.get(), 0), &kind)) {
    return Fail("describe() must return None or a tuple that begins with a word");
  }
  PyObject* const content = calls_.tuple_get(answer.get(), 1);
  waits_ = waits_ || kind == "waits";
  found_bad_ = found_bad_ || kind == "bad";
  if (kind == "plain" || kind == "waits" || kind == "bad") return Plain(content, place.depth);
  if (kind == "tensor") return DescribedTensor(answer.get(), place);
  if (kind == "array") return DescribedArray(answer.get(), place.depth);
  const Place inner = {.depth = place.depth, .level = place.level + 1};
  if (kind == "fields") return Dict(content, inner, false);
  if (kind != "walk") return Fail("describe() returned an unknown kind");
  return Value(content, inner);
}

bool Renderer::DescribedTensor(PyObject* answer, Place place) {
  if (calls_.tuple_size(answer) != 5) return Fail("describe() returned a tensor of other shape");
  ReadTensor tensor;
  Labels labels;
  if (!reader_.Read(calls_.tuple_get(answer, 1), &tensor) ||
      !TextOf(calls_, calls_.tuple_get(answer, 2), &labels.type)) {
    return Fail("describe() returned a tensor that cannot be read");
  }
  if (calls_.tuple_get(answer, 3) != calls_.none) labels.extra = calls_.tuple_get(answer, 3);
  tensor.requires_grad = calls_.tuple_get(answer, 4) == calls_.true_object;
  return TensorRecord(tensor, labels, place.depth);
}

bool Renderer::DescribedArray(PyObject* answer, size_t depth) {
  if (calls_.tuple_size(answer) != 3) return Fail("describe() returned an array of other shape");
  PyObject* const record = calls_.tuple_get(answer, 1);
  ReadTensor tensor;
  // An empty array has a name and no file.
  if (*save_ && reader_.Read(calls_.tuple_get(answer, 2), &tensor) &&
      (tensor.view.Count() == 0 || (*save_)(path_, tensor))) {
    const PyOwned name(calls_, calls_.unicode(base::Concat(path_, options_.extension).c_str()));
    if (!name || calls_.dict_set(record, "data_name", name.get()) != 0) return false;
  }
  return Plain(record, depth);
}

bool Renderer::Tensor(PyObject* tensor, Place place) {
  ReadTensor read;
  if (options_.slice == nullptr) {
    if (!reader_.Read(tensor, &read)) return Described(tensor, {place.depth, place.level});
    return TensorRecord(read, {}, place.depth);
  }
  const PyOwned part(calls_, calls_.call(options_.slice, tensor, nullptr));
  if (!part) return false;
  if (!reader_.IsPlainTensor(part.get()) || !reader_.Read(part.get(), &read)) {
    return Described(part.get(), {place.depth, place.level});
  }
  return TensorRecord(read, {}, place.depth);
}

void Renderer::Summary(const ReadTensor& tensor, size_t depth) {
  std::string& out = *out_;
  if (options_.summary == SummaryMode::kXor) {
    AppendField(out, depth, "md5");
    if (tensor.view.Count() == 0 || tensor.view.type == probe::ElementType::kFloat8) {
      out.append("null");
    } else if (tensor.view.shape.empty()) {
      out.append(ScalarWord(tensor));
    } else {
      AppendQuoted(out, probe::HexWord(probe::XorWords(tensor.view)));
    }
    return;
  }
  if (options_.summary == SummaryMode::kNone) return;
  const probe::Statistics statistics = probe::ComputeStatistics(tensor.view, options_.statistics);
  for (const probe::Number* number : {&statistics.max, &statistics.min}) {
    if (number->kind == probe::Number::Kind::kFloat && !std::isfinite(number->real)) {
      found_bad_ = true;
    }
  }
  if (options_.summary == SummaryMode::kCheck) return;
  const std::pair<std::string_view, const probe::Number*> fields[] = {{"Max", &statistics.max},
                                                                      {"Min", &statistics.min},
                                                                      {"Mean", &statistics.mean},
                                                                      {"Norm", &statistics.norm}};
  for (const auto& [name, number] : fields) {
    AppendField(out, depth, name);
    probe::AppendNumber(out, *number);
  }
}

bool Renderer::TensorRecord(const ReadTensor& tensor, const Labels& labels, size_t depth) {
  std::string& out = *out_;
  AppendField(out, depth, "type", true);
  AppendQuoted(out, labels.type);
  AppendField(out, depth, "dtype");
  AppendQuoted(out, base::Concat("torch.", tensor.dtype->name));
  AppendField(out, depth, "shape");
  probe::AppendShape(out, tensor.view.shape, depth + 1);
  Summary(tensor, depth);
  AppendField(out, depth, "requires_grad");
  out.append(tensor.requires_grad ? "true" : "false");
  if (labels.extra != nullptr) {
    const PyOwned items(calls_, calls_.dict_items(labels.extra));
    for (intptr_t i = 0; items && i < calls_.list_size(items.get()); i++) {
      PyObject* item = calls_.list_get(items.get(), i);
      std::string key;
      if (!Key(calls_.tuple_get(item, 0), key)) return false;
      AppendField(out, depth, key);
      if (!Plain(calls_.tuple_get(item, 1), depth + 1)) return false;
    }
  }
  // The reference leaves out tensors without memory; an empty part of a tensor has memory.
  if (*save_ && tensor.view.data != nullptr && (*save_)(path_, tensor)) {
    AppendField(out, depth, "data_name");
    AppendQuoted(out, base::Concat(path_, options_.extension));
  }
  if (options_.summary == SummaryMode::kCrc32) {
    AppendField(out, depth, "md5");
    AppendQuoted(out, probe::Crc32Text(tensor.view));
  }
  AppendEnd(out, depth, '}');
  return true;
}

bool Renderer::PlainEntries(PyObject* value, size_t depth, bool is_dict) {
  PyOwned items(calls_, is_dict ? calls_.dict_items(value) : calls_.sequence_list(value));
  if (!items) return false;
  const intptr_t size = calls_.list_size(items.get());
  if (size == 0) {
    out_->append(is_dict ? "{}" : "[]");
    return true;
  }
  for (intptr_t i = 0; i < size; i++) {
    PyObject* item = calls_.list_get(items.get(), i);
    if (is_dict) {
      std::string key;
      if (!Key(calls_.tuple_get(item, 0), key)) return false;
      AppendField(*out_, depth, key, i == 0);
      item = calls_.tuple_get(item, 1);
    } else {
      out_->push_back(i == 0 ? '[' : ',');
      AppendLine(*out_, depth + 1);
    }
    if (!Plain(item, depth + 1)) return false;
  }
  AppendEnd(*out_, depth, is_dict ? '}' : ']');
  return true;
}

bool Renderer::Plain(PyObject* value, size_t depth) {
  PyObject* const type = value->type;
  if (value == calls_.none) {
    out_->append("null");
  } else if (type == calls_.bool_type) {
    out_->append(value == calls_.true_object ? "true" : "false");
  } else if (type == calls_.float_type) {
    probe::AppendReal(*out_, calls_.float_as_double(value));
  } else if (type == calls_.dict_type) {
    return PlainEntries(value, depth, true);
  } else if (type == calls_.list_type || type == calls_.tuple_type) {
    return PlainEntries(value, depth, false);
  } else {
    const PyOwned shown(calls_, calls_.str(value));
    std::string_view text;
    if (!shown) return false;
    // Lone surrogates have no UTF-8.
    if (!TextOf(calls_, shown.get(), &text)) text = "?";
    if (type == calls_.int_type) {
      out_->append(text);
    } else {
      AppendQuoted(*out_, text);
    }
  }
  return true;
}

}  // namespace sonde::adapt
