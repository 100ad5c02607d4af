// How far the outputs of one call may lie apart in two runs that differ by rounding alone.
//
//   |e| <= R  +  A * d * max(|y|, P)  +  Q  +  sqrt(n) * t
//   R = L * u * ((c + sqrt(k)) * |y| + P)                                      fine types
//   R = 3 * u * (min(c, 4) * |y| + S)  +  L * 2^-24 * (sqrt(k) * |y| + P)      coarse types
//   R + A * d * ... is at most a fifth of max(|y|, S), or R
//
//   coarse types have u > 2^-12 (float16 and less): their products are added up in float32, and
//   only results are rounded; of them A is 4, and d is taken of max(|y|, S). S is 0 where nothing
//   in between is rounded. S   the length of an output whose terms have random signs: P / sqrt(k)
//   of products, P of others u   unit roundoff of the coarsest type of the call: 2^-24 float32,
//   2^-8 bfloat16, ... k   how many products or terms are added up for one element, from the shapes
//   c   how often a result is rounded on its way: 0 copies, 2 one operation, more for fused ones
//   |y| the length (2-norm) of the output
//   P   what the condition of the operation makes of its inputs' lengths:
//         products (linear, matmul, convolutions)  |a| |b|
//         sums of r terms                          sqrt(r) |x|, means |x| / sqrt(r)
//         added and subtracted                     |a| + |b|
//         softmax, losses by it, attention         |y| max|x|
//         normalisations                           |y| rms(x) / std(x)
//         gradients of these                       |g| times the other factor
//   d   the relative distance that the inputs already have, A what an operation makes of it
//   Q   0, and of quotients that are added (addcdiv: an optimizer's step) where inputs differ
//         2 f sqrt(n) |a| / |b|, f their factor: a gradient that is zero but for rounding has the
//         sign of noise
//   n   elements of the output
//   t   the smallest number that its type keeps: what underflow takes from an element
//   L   8: six standard deviations plus the effect of order and blocking
//
// Sources: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002,
// section 3.1 (|fl(x'y) - x'y| <= gamma_k |x|'|y|), 3.5 (|fl(AB) - AB| <= gamma_k |A||B|), 4.2
// (sums of any order); N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error
// Analysis, SIAM J. Sci. Comput. 41(5), 2019: gamma_k may be replaced by lambda sqrt(k) u, which
// fails with probability 2 exp(-lambda^2 (1-u)^2 / 2) an element; P. Blanchard, D. J. Higham and N.
// J. Higham, Accurately computing the log-sum-exp and softmax functions, IMA J. Numer. Anal. 41(4),
// 2021: its relative error grows with max|x|. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "precision/cause/operand.h"

namespace sonde::precision {

// Whether a type of this unit roundoff is coarse: float16 and less.
bool IsCoarse(double unit);

enum class Family : uint8_t {
  kCopy,         // moves values: views, gathers, embeddings, dropout of given mask
  kElementwise,  // one operation an element
  kQuotient,     // adds a quotient: addcdiv
  kSum,          // sums and norms
  kMean,         // means, losses of means
  kProduct,      // sums of products
  kExponential,  // softmax and functions that contain it
  kNormalise,    // divides by a deviation
  kIndex,        // gives places or truth values: argmax, comparisons
  kCommunication,
  kModule,  // several operations
};

// Of an entry's name without call number, "Functional.linear.forward", "Module.a.b.Linear.forward".
Family FamilyOf(std::string_view name);
// Random by design: the output has no meaning.
bool IsRandomApi(std::string_view name);

// Facts of one call.
struct CallNumbers {
  Family family = Family::kElementwise;
  bool is_backward = false;  // gradients come in; `forward` holds what the forward call saw
  std::vector<Operand> inputs;
  std::vector<Operand> forward;
  double unit = 0;       // coarsest of all
  double relative = 0;   // d
  double factor = 0;     // largest number among the arguments, 0: none
  bool is_cuda = false;  // both runs state a CUDA device
};

struct Tolerance {
  double length = 0;  // for |e|
  double scale = 0;   // max(|y|, P): what |e| is relative to
  double terms = 1;   // k
};
Tolerance ToleranceOf(const CallNumbers& call, const Operand& output);

// Whether a distance `length` has the size that products of float32 in TensorFloat-32 (10 bits
// behind the point: unit roundoff 2^-11) have: the order of 1e-3 of the output. Of products and
// modules on CUDA devices alone.
bool ExplainedByTf32(const CallNumbers& call, const Operand& output, double length);

// For an input that no recorded call produced: some operations' rounding.
double InputTolerance(const Operand& input, double unit, double relative);

// The relative distance that inputs may have whose statistics agree to the last digit, once
// anything has differed by `background`: statistics of a type have its own resolution.
double UnseenDistance(double unit, double background);

}  // namespace sonde::precision
