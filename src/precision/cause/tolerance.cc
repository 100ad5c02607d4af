#include "precision/cause/tolerance.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace sonde::precision {
namespace {

constexpr double kSpread = 8;  // L
constexpr double kFloat32 = 0x1p-24;
// From here on a type is coarse: processors add up its products in float32, and its own rounding is
// that of results.
constexpr double kCoarse = 0x1p-12;
constexpr double kCoarseSpread = 3;
// A: one operation on inputs that differ.
constexpr double kGrowth = 8;
constexpr double kModuleGrowth = 32;
constexpr double kCoarseGrowth = 4;
// The share of a value's size that is never called rounding.
constexpr double kLimit = 0.2;
constexpr double kMaxCondition = 1e6;

bool Holds(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view Part(std::string_view name, size_t index) {
  for (; index > 0; --index) {
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return {};
    name.remove_prefix(dot + 1);
  }
  return name.substr(0, name.find('.'));
}

// "Linear" of "Module.a.b.Linear.forward": the part before the direction.
std::string_view ClassOf(std::string_view name) {
  for (const std::string_view word : {".forward", ".backward", ".parameters_grad"}) {
    const size_t at = name.rfind(word);
    if (at == std::string_view::npos) continue;
    const std::string_view path = name.substr(0, at);
    return path.substr(path.rfind('.') + 1);
  }
  return {};
}

Family FamilyOfModule(std::string_view type) {
  if (Holds(type, {"Linear", "Conv", "lm_head"})) return Family::kProduct;
  if (Holds(type, {"Norm"})) return Family::kNormalise;
  if (Holds(type, {"Embedding", "Flatten", "Identity", "Dropout"})) return Family::kCopy;
  if (Holds(type, {"Softmax", "CrossEntropy"})) return Family::kExponential;
  if (Holds(type, {"ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Activation"})) {
    return Family::kElementwise;
  }
  return Family::kModule;
}

Family FamilyOfApi(std::string_view api) {
  if (Holds(api, {"attention", "softmax", "cross_entropy", "logsumexp", "log_sigmoid", "nll_loss",
                  "kl_div", "binary_cross"}) ||
      IsOneOf(api,
              {"exp", "exp_", "expm1", "__pow__", "__rpow__", "pow", "pow_", "sinh", "cosh"})) {
    return Family::kExponential;
  }
  if (Holds(api,
            {"linear", "matmul", "conv", "einsum", "addmm", "addbmm", "tensordot", "bilinear"}) ||
      IsOneOf(api, {"mm", "bmm", "mv", "baddbmm", "addmv", "dot", "vdot", "inner", "outer", "lstm",
                    "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "cdist"})) {
    return Family::kProduct;
  }
  if (Holds(api, {"_norm"}) &&
      !Holds(api, {"clip", "linalg", "vector_norm", "matrix_norm", "foreach"})) {
    return Family::kNormalise;
  }
  if (IsOneOf(api,
              {"sum", "norm", "prod", "cumsum", "cumprod", "nansum", "trace", "logcumsumexp"}) ||
      Holds(api, {"vector_norm", "matrix_norm", "foreach_norm", "scatter_add", "index_add",
                  "embedding_bag"})) {
    return Family::kSum;
  }
  if (IsOneOf(api, {"mean", "nanmean", "std", "var", "std_mean", "var_mean", "interpolate"}) ||
      Holds(api, {"_loss", "avg_pool"})) {
    return Family::kMean;
  }
  if (Holds(api, {"argm", "argsort", "nonzero", "searchsorted", "bucketize", "one_hot"}) ||
      IsOneOf(api, {"eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__",
                    "__gt__", "__ge__", "isnan", "isinf", "isfinite", "isclose", "equal"})) {
    return Family::kIndex;
  }
  if (Holds(api, {"view",      "reshape", "transpose", "permute",    "squeeze",      "expand",
                  "clone",     "detach",  "flatten",   "gather",     "index_select", "masked_fill",
                  "embedding", "getitem", "setitem",   "contiguous", "repeat",       "split",
                  "chunk",     "unbind",  "stack",     "pad"}) ||
      IsOneOf(api, {"cat",    "concat",  "t",     "flip",  "roll", "where", "tril",
                    "triu",   "dropout", "relu",  "relu_", "neg",  "abs",   "max",
                    "min",    "amax",    "amin",  "clamp", "sort", "topk",  "narrow",
                    "select", "copy_",   "fill_", "zero_", "full", "ones",  "zeros"})) {
    return Family::kCopy;
  }
  return Holds(api, {"addcdiv"}) ? Family::kQuotient : Family::kElementwise;
}

double Roundings(Family family) {
  switch (family) {
    case Family::kCopy:
    case Family::kIndex:
      return 0;
    case Family::kExponential:
    case Family::kNormalise:
      return 8;
    case Family::kModule:
      return 64;
    default:
      return 2;
  }
}

const Operand* Largest(const std::vector<Operand>& operands) {
  const Operand* out = nullptr;
  for (const Operand& operand : operands) {
    if (operand.is_floating && (out == nullptr || operand.elements > out->elements)) out = &operand;
  }
  return out;
}

double MaxAbs(const std::vector<Operand>& operands) {
  double out = 0;
  for (const Operand& operand : operands) {
    if (operand.is_floating) out = std::max(out, operand.max_abs);
  }
  return out;
}

// rms / std of all elements together.
double CentreCondition(const Operand& x) {
  if (x.elements == 0 || x.norm == 0) return 1;
  const double square = x.norm * x.norm / x.elements;
  const double variance = square - x.mean * x.mean;
  if (variance <= square / (kMaxCondition * kMaxCondition)) return kMaxCondition;
  return std::sqrt(square / variance);
}

double Ratio(double a, double b) { return a > b && b > 0 ? a / b : 1; }

// Terms of one element of a product of these: sqrt(|a||b|/|y|) for (m k)(k n) -> (m n).
double ProductTerms(const Operand& a, const Operand& b, const Operand& y) {
  if (y.elements == 0) return 1;
  return std::max({1.0, std::sqrt(a.elements * b.elements / y.elements), a.last_axis});
}

struct Condition {
  double size = 0;   // P
  double terms = 1;  // k
};

Condition ProductCondition(const std::vector<Operand>& inputs, const Operand& y) {
  std::vector<const Operand*> factors;
  Condition out;
  for (const Operand& operand : inputs) {
    if (!operand.is_floating) continue;
    if (factors.size() < 2) {
      factors.push_back(&operand);
    } else {
      // A bias is added to every row.
      out.size += operand.norm * std::sqrt(Ratio(y.elements, operand.elements));
    }
  }
  if (factors.size() == 2) {
    out.size += factors[0]->norm * factors[1]->norm;
    out.terms = ProductTerms(*factors[0], *factors[1], y);
  } else if (factors.size() == 1) {
    out.size += factors[0]->norm;
    out.terms = std::max(1.0, factors[0]->last_axis);
  }
  return out;
}

Condition ForwardCondition(const CallNumbers& call, const Operand& y) {
  const Operand* const x = Largest(call.inputs);
  if (x == nullptr) return {y.norm, 1};
  const double terms = Ratio(x->elements, y.elements);
  switch (call.family) {
    case Family::kProduct:
      return ProductCondition(call.inputs, y);
    case Family::kSum:
      return {x->norm * std::sqrt(terms), terms};
    case Family::kMean:
      return {x->norm / std::sqrt(terms), terms};
    case Family::kExponential: {
      const double condition = 1 + MaxAbs(call.inputs);
      const double length = std::max(y.norm, std::sqrt(y.elements) * std::min(1.0, y.max_abs));
      return {length * condition, std::max(x->last_axis, terms)};
    }
    case Family::kNormalise:
      return {y.norm * CentreCondition(*x), x->last_axis};
    case Family::kModule:
      return {y.norm + x->norm, std::max(x->last_axis, y.last_axis)};
    case Family::kCopy:
    case Family::kIndex:
      return {y.norm, 1};
    default: {
      Condition out;
      for (const Operand& operand : call.inputs) {
        if (!operand.is_floating) continue;
        out.size += operand.norm * std::sqrt(Ratio(y.elements, operand.elements));
      }
      return out;
    }
  }
}

// Gradients: |g| times what the forward call multiplied with, and a row of ones for a bias.
Condition BackwardCondition(const CallNumbers& call, const Operand& y) {
  const Operand* const g = Largest(call.inputs);
  if (g == nullptr) return {y.norm, 1};
  const Operand* const x = Largest(call.forward);
  const double terms = std::max({1.0, Ratio(g->elements, y.elements), g->last_axis});
  double factor = 1 + MaxAbs(call.forward);
  if (call.family == Family::kProduct || call.family == Family::kModule) {
    factor = std::sqrt(terms);
    for (const Operand& operand : call.forward) {
      if (operand.is_floating) factor = std::max(factor, operand.norm);
    }
  } else if (call.family == Family::kNormalise && x != nullptr && x->norm > 0) {
    const double deviation = x->norm / std::sqrt(x->elements) / CentreCondition(*x);
    factor *= CentreCondition(*x) * std::max(1.0, 1 / std::max(deviation, 1e-3));
    factor = std::max(factor, std::sqrt(terms) * (1 + MaxAbs(call.forward)));
  } else if (call.family == Family::kSum || call.family == Family::kMean ||
             call.family == Family::kElementwise) {
    factor *= std::sqrt(terms);
  }
  return {g->norm * factor, terms};
}

// What the sign of noise may make of an added quotient, whose parts are the second and third input.
double OfNoise(const CallNumbers& call, const Operand& output) {
  constexpr size_t kParts = 3;
  if (call.family != Family::kQuotient || call.relative == 0 || call.inputs.size() < kParts)
    return 0;
  const double below = call.inputs[2].norm;
  if (below == 0) return 0;
  const double factor = call.factor > 0 ? call.factor : 1;
  return 2 * factor * std::sqrt(output.elements) * call.inputs[1].norm / below;
}

}  // namespace

Family FamilyOf(std::string_view name) {
  if (name.starts_with("Distributed.")) return Family::kCommunication;
  if (name.starts_with("Module.") || name.starts_with("Cell."))
    return FamilyOfModule(ClassOf(name));
  return FamilyOfApi(Part(name, 1));
}

bool IsRandomApi(std::string_view name) {
  const std::string_view api = Part(name, 1);
  return Holds(api,
               {"dropout", "rand", "bernoulli", "multinomial", "normal_", "uniform_", "rrelu"}) ||
         api == "normal" || api == "poisson";
}

namespace {

double RoundingOf(const CallNumbers& call, const Operand& output, const Condition& condition,
                  double spread_size) {
  if (Roundings(call.family) == 0 && !call.is_backward) return 0;
  const double roots = std::sqrt(condition.terms);
  if (call.unit < kCoarse) {
    return kSpread * call.unit * ((Roundings(call.family) + roots) * output.norm + condition.size);
  }
  // Of modules and gradients values in between are rounded, too.
  const bool inner = call.is_backward || call.family == Family::kModule ||
                     call.family == Family::kExponential || call.family == Family::kNormalise;
  const double roundings = std::min(Roundings(call.family), 4.0);
  return kCoarseSpread * call.unit * (roundings * output.norm + (inner ? spread_size : 0)) +
         kSpread * kFloat32 * (roots * output.norm + condition.size);
}

}  // namespace

Tolerance ToleranceOf(const CallNumbers& call, const Operand& output) {
  const Condition condition =
      call.is_backward ? BackwardCondition(call, output) : ForwardCondition(call, output);
  Tolerance out;
  out.terms = condition.terms;
  out.scale = std::max(output.norm, condition.size);
  // How long the output is where nothing cancels: a sum of k terms of random signs.
  const bool adds = call.family == Family::kProduct || call.is_backward;
  const double spread_size = condition.size / (adds ? std::sqrt(std::max(1.0, out.terms)) : 1.0);
  const double size = std::max(output.norm, spread_size);
  const double rounding = RoundingOf(call, output, condition, spread_size);
  const bool coarse = call.unit >= kCoarse;
  const double growth = coarse                                               ? kCoarseGrowth
                        : call.family == Family::kModule || call.is_backward ? kModuleGrowth
                                                                             : kGrowth;
  const double grown = growth * call.relative * (coarse ? size : out.scale);
  const double underflow = rounding == 0 ? 0 : std::sqrt(output.elements) * output.tiny;
  out.length = std::min(rounding + grown, std::max(rounding, kLimit * size)) + underflow +
               OfNoise(call, output);
  return out;
}

bool ExplainedByTf32(const CallNumbers& call, const Operand& output, double length) {
  // Unit roundoff 2^-11; a difference has that order, above a tenth and below ten times of it.
  constexpr double kTf32 = 0x1p-11;
  const bool multiplies = call.family == Family::kProduct || call.family == Family::kModule;
  if (!multiplies || !call.is_cuda || call.unit != kFloat32 || output.unit != kFloat32) {
    return false;
  }
  const double relative = output.norm > 0 ? length / output.norm : 0;
  return relative > kTf32 / 100 && relative < 10 * kTf32;
}

bool IsCoarse(double unit) { return unit >= kCoarse; }

double InputTolerance(const Operand& input, double unit, double relative) {
  const bool coarse = unit >= kCoarse;
  const double rounding = coarse ? kCoarseSpread * 4 * unit : kSpread * 4 * unit;
  const double grown = (coarse ? kCoarseGrowth : kGrowth) * relative;
  return std::min(rounding + grown, std::max(rounding, kLimit)) * input.norm;
}

double UnseenDistance(double unit, double background) {
  return std::min(background, (unit >= kCoarse ? 2 : 16) * unit);
}

}  // namespace sonde::precision
