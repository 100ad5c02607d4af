#include "precision/tensor/user_metric.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "sonde/metric.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr size_t kMaxCellBytes = 256;

struct Side {
  std::vector<double> values;
  sonde_metric_tensor view = {};

  explicit Side(const Tensor& tensor) {
    const auto count = static_cast<size_t>(tensor.element_count());
    values.resize(IsComplex(tensor.dtype()) ? 2 * count : count);
    if (count > 0) tensor.ReadDoubles(0, count, values.data());
    view.values = values.data();
    view.value_count = values.size();
    view.shape = tensor.shape().data();
    view.dimensions = tensor.shape().size();
  }
};

using VersionFunction = int (*)();
using NameFunction = const char* (*)();
using CompareFunction = decltype(&sonde_metric_compare);

Result<void*> Symbol(void* library, const std::string& path, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    return base::InvalidArgumentError(
        Concat(path, " has no function ", name, " (see include/sonde/metric.h)"));
  }
  return found;
}

}  // namespace

Result<UserMetric> UserMetric::Load(const std::string& path) {
  // An absolute path, so that the loader does not search its folders for a plain name.
  void* const library = dlopen(base::AbsolutePath(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return base::InvalidArgumentError(Concat("cannot load the metric ", path, ": ", dlerror()));
  }
  SONDE_ASSIGN_OR_RETURN(void* const version_symbol, Symbol(library, path, "sonde_metric_version"));
  SONDE_ASSIGN_OR_RETURN(void* const name_symbol, Symbol(library, path, "sonde_metric_name"));
  UserMetric out;
  SONDE_ASSIGN_OR_RETURN(out.compare_, Symbol(library, path, "sonde_metric_compare"));
  const auto version = reinterpret_cast<VersionFunction>(version_symbol);
  if (version() != SONDE_METRIC_VERSION) {
    return base::InvalidArgumentError(Concat(path, " was built for version ",
                                             std::to_string(version()), " of metrics, not for ",
                                             std::to_string(SONDE_METRIC_VERSION)));
  }
  const char* const text = reinterpret_cast<NameFunction>(name_symbol)();
  if (text == nullptr || *text == '\0') {
    return base::InvalidArgumentError(Concat(path, " names no column"));
  }
  out.name_ = text;
  return out;
}

std::string UserMetric::Compare(const Tensor& target, const Tensor& golden) const {
  const Side t(target);
  const Side g(golden);
  std::array<char, kMaxCellBytes> text = {};
  const auto compare = reinterpret_cast<CompareFunction>(compare_);
  if (compare(&t.view, &g.view, text.data(), text.size()) != 0) return "unsupported";
  return {text.data(), strnlen(text.data(), text.size())};
}

}  // namespace sonde::precision
