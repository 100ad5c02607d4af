#include "precision/cause/alignment.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "precision/cause/operand.h"
#include "precision/cause/roles.h"
#include "precision/compare/pairing.h"
#include "precision/dump/construct_file.h"

namespace sonde::precision {
namespace {

constexpr size_t kLookAhead = 512;
// So many equal calls behind a gap are a common continuation and no accident.
constexpr size_t kSureLength = 6;

constexpr std::string_view kConversions[] = {"to",
                                             "float",
                                             "half",
                                             "bfloat16",
                                             "double",
                                             "type",
                                             "type_as",
                                             "contiguous",
                                             "clone",
                                             "detach",
                                             "view",
                                             "reshape",
                                             "view_as",
                                             "expand",
                                             "expand_as",
                                             "cpu",
                                             "cuda",
                                             "npu",
                                             "requires_grad_",
                                             "size",
                                             "numpy",
                                             "item",
                                             "flatten",
                                             "squeeze",
                                             "unsqueeze",
                                             "transpose",
                                             "permute",
                                             "t",
                                             "narrow",
                                             "as_strided",
                                             "is_floating_point"};

// Modules have names of their own: two of them are as sure.
constexpr int kSureModules = 2;

struct Sequence {
  std::vector<uint64_t> keys;
  std::vector<bool> is_module;
  bool has_modules = false;
  std::vector<int32_t> calls;
};

bool Counts(const DumpApi& api) { return api.row_count > 0 && !IsConversion(api.name); }

uint64_t CallKey(std::string_view api, const ConstructFile* tree) {
  const uint64_t name = base::HashString(
      WithoutCallNumber(IsModuleName(api) ? std::string_view(WithoutWrappers(api)) : api));
  if (tree == nullptr || IsModuleName(api) || api.ends_with(".backward")) return name;
  const std::string_view module = tree->ModuleOf(api);
  return module.empty() ? name : base::HashCombine(name, base::HashString(ModulePath(module)));
}

Sequence SequenceOf(const DumpFile& dump, size_t begin, const ConstructFile* tree) {
  Sequence out;
  for (size_t i = begin; i < dump.apis().size(); ++i) {
    const DumpApi& api = dump.apis()[i];
    if (!Counts(api)) continue;
    out.keys.push_back(CallKey(api.name, tree));
    out.is_module.push_back(IsModuleName(api.name));
    out.has_modules = out.has_modules || out.is_module.back();
    out.calls.push_back(static_cast<int32_t>(i));
  }
  return out;
}

bool Continues(const Sequence& a, size_t i, const Sequence& b, size_t j) {
  int modules = 0;
  size_t same = 0;
  for (; i + same < a.keys.size() && j + same < b.keys.size(); ++same) {
    if (a.keys[i + same] != b.keys[j + same]) return false;
    modules += a.is_module[i + same] ? 1 : 0;
    if (a.has_modules ? modules == kSureModules : same + 1 == kSureLength) return true;
  }
  // The last calls of both runs.
  return same > 0 && i + same == a.keys.size() && j + same == b.keys.size();
}

struct Stretch {
  size_t target = 0;
  size_t golden = 0;
  bool found = false;
};

// The shortest gap behind which both go on alike; calls that only one run has come first.
Stretch FindGap(const Sequence& a, size_t i, const Sequence& b, size_t j) {
  const size_t most_a = std::min(kLookAhead, a.keys.size() - i);
  const size_t most_b = std::min(kLookAhead, b.keys.size() - j);
  for (size_t length = 1; length <= most_a + most_b; ++length) {
    const size_t least = length > most_b ? length - most_b : 0;
    for (size_t in_a = least; in_a <= std::min(length, most_a); ++in_a) {
      if (Continues(a, i + in_a, b, j + length - in_a)) return {in_a, length - in_a, true};
    }
  }
  return {a.keys.size() - i, b.keys.size() - j,
          i + most_a == a.keys.size() && j + most_b == b.keys.size()};
}

// Two runs of one program have the same names up to the place where they part, mostly to the end:
// no key is made of them. Gives how many calls that are.
size_t AlikeAtFirst(const DumpFile& target, const DumpFile& golden,
                    const ConstructFile* target_tree, const ConstructFile* golden_tree,
                    Alignment* out) {
  const auto& ours = target.apis();
  const auto& theirs = golden.apis();
  const size_t most = std::min(ours.size(), theirs.size());
  size_t i = 0;
  for (; i < most && ours[i].name == theirs[i].name; ++i) {
    const bool counts = Counts(ours[i]);
    if (counts != Counts(theirs[i])) break;
    if (counts && target_tree != nullptr && !IsModuleName(ours[i].name)) {
      const std::string_view a = target_tree->ModuleOf(ours[i].name);
      const std::string_view b = golden_tree->ModuleOf(theirs[i].name);
      if (a != b && ModulePath(a) != ModulePath(b)) break;
    }
    if (counts) out->calls.push_back({static_cast<int32_t>(i), static_cast<int32_t>(i)});
  }
  return i;
}

// The call and the values that it got; 0: it got none that could be recognised.
uint64_t KeyByInputs(const DumpFile& dump, int32_t call) {
  const DumpApi& api = dump.apis()[static_cast<size_t>(call)];
  if (IsModuleName(api.name)) return 0;
  const Mode mode = dump.has_md5() ? Mode::kMd5 : Mode::kStatistics;
  uint64_t key = 0;
  for (const DumpRow& row : std::span(&dump.rows()[api.first_row], api.row_count)) {
    if (row.section != Section::kInput || row.kind != LeafKind::kTensor) continue;
    const uint64_t value = ValueKey(row, mode);
    if (value == 0) return 0;
    key = base::HashCombine(key, value);
  }
  return key == 0 ? 0 : base::HashCombine(key, base::HashString(WithoutCallNumber(api.name)));
}

std::vector<uint64_t> KeysByInputs(const DumpFile& dump, std::span<const int32_t> calls) {
  std::vector<uint64_t> out;
  out.reserve(calls.size());
  for (const int32_t call : calls) out.push_back(KeyByInputs(dump, call));
  return out;
}

// The calls of a gap: those of the same name that got the same values are the same (the longest
// common sequence), the others are of one run only.
void PairInGap(const DumpFile& target, std::span<const int32_t> ours, const DumpFile& golden,
               std::span<const int32_t> theirs, std::vector<AlignedCall>* out) {
  size_t i = 0;
  size_t j = 0;
  if (ours.size() <= kLookAhead && theirs.size() <= kLookAhead) {
    const std::vector<uint64_t> a = KeysByInputs(target, ours);
    const std::vector<uint64_t> b = KeysByInputs(golden, theirs);
    const size_t width = b.size() + 1;
    std::vector<uint16_t> common((a.size() + 1) * width, 0);
    for (size_t x = a.size(); x-- > 0;) {
      for (size_t y = b.size(); y-- > 0;) {
        common[x * width + y] =
            a[x] != 0 && a[x] == b[y]
                ? static_cast<uint16_t>(common[(x + 1) * width + y + 1] + 1)
                : std::max(common[(x + 1) * width + y], common[x * width + y + 1]);
      }
    }
    while (i < a.size() && j < b.size() && common[i * width + j] > 0) {
      if (a[i] != 0 && a[i] == b[j]) {
        out->push_back({ours[i++], theirs[j++]});
      } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
        out->push_back({ours[i++], kNoCall});
      } else {
        out->push_back({kNoCall, theirs[j++]});
      }
    }
  }
  for (; i < ours.size(); ++i) out->push_back({ours[i], kNoCall});
  for (; j < theirs.size(); ++j) out->push_back({kNoCall, theirs[j]});
}

// Whether the first tensors that two calls got have other shapes.
bool ShapesDiffer(const DumpFile& target, const DumpFile& golden, const AlignedCall& call) {
  const auto first_of = [](const DumpFile& dump, int32_t at) -> const DumpRow* {
    const DumpApi& api = dump.apis()[static_cast<size_t>(at)];
    for (const DumpRow& row : std::span(&dump.rows()[api.first_row], api.row_count)) {
      if (row.section == Section::kInput && row.kind == LeafKind::kTensor) return &row;
    }
    return nullptr;
  };
  const DumpRow* const a = first_of(target, call.target);
  const DumpRow* const b = first_of(golden, call.golden);
  return a != nullptr && b != nullptr && a->shape != b->shape;
}

// The first call behind the last backward one; without any: behind all.
int32_t BehindBackward(const DumpFile& dump) {
  for (size_t i = dump.apis().size(); i > 0; --i) {
    const std::string_view name = dump.apis()[i - 1].name;
    const bool gradients = name.find(".backward") != std::string_view::npos ||
                           name.find(".parameters_grad") != std::string_view::npos;
    if (gradients) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(dump.apis().size());
}

// Fused, foreach and loop compute the same, and so do weights in another order: the weights of the
// next step are what is comparable. Without trees, as at level L1, the optimizer is what comes
// behind the backward pass.
void LeaveOutOtherOptimizers(const DumpFile& target, const DumpFile& golden,
                             const ConstructFile* target_tree, const ConstructFile* golden_tree,
                             Alignment* out) {
  const int32_t ours_from = BehindBackward(target);
  const int32_t theirs_from = BehindBackward(golden);
  const auto is_optimizers = [&](const AlignedCall& call) {
    const bool ours = call.target != kNoCall;
    const std::string_view name = ours ? target.apis()[static_cast<size_t>(call.target)].name
                                       : golden.apis()[static_cast<size_t>(call.golden)].name;
    if (target_tree != nullptr) return IsOptimizerCall(name, ours ? target_tree : golden_tree);
    const bool behind = ours ? call.target >= ours_from : call.golden >= theirs_from;
    return behind && !name.starts_with("Distributed.");  // gradients of several ranks
  };
  out->other_optimizer =
      std::any_of(out->calls.begin(), out->calls.end(), [&](const AlignedCall& call) {
        return is_optimizers(call) && (call.target == kNoCall || call.golden == kNoCall ||
                                       ShapesDiffer(target, golden, call));
      });
  if (out->other_optimizer) std::erase_if(out->calls, is_optimizers);
}

}  // namespace

bool IsConversion(std::string_view api) {
  if (!api.starts_with("Tensor.") && !api.starts_with("Torch.")) return false;
  if (api.ends_with(".backward")) return false;
  const std::string_view rest = api.substr(api.find('.') + 1);
  const std::string_view name = rest.substr(0, rest.find('.'));
  return std::find(std::begin(kConversions), std::end(kConversions), name) !=
         std::end(kConversions);
}

Alignment AlignCalls(const DumpFile& target, const DumpFile& golden,
                     const ConstructFile* target_tree, const ConstructFile* golden_tree) {
  Alignment out;
  out.calls.reserve(target.apis().size());
  if (target_tree == nullptr || golden_tree == nullptr || target_tree->entries().empty() ||
      golden_tree->entries().empty()) {
    target_tree = golden_tree = nullptr;
  }
  const size_t alike = AlikeAtFirst(target, golden, target_tree, golden_tree, &out);
  const Sequence a = SequenceOf(target, alike, target_tree);
  const Sequence b = SequenceOf(golden, alike, golden_tree);
  size_t i = 0;
  size_t j = 0;
  while (i < a.keys.size() || j < b.keys.size()) {
    if (i < a.keys.size() && j < b.keys.size() && a.keys[i] == b.keys[j]) {
      out.calls.push_back({a.calls[i++], b.calls[j++]});
      continue;
    }
    const Stretch gap = FindGap(a, i, b, j);
    if (!gap.found) {
      out.is_complete = false;
      break;
    }
    PairInGap(target, {a.calls.data() + i, gap.target}, golden, {b.calls.data() + j, gap.golden},
              &out.calls);
    i += gap.target;
    j += gap.golden;
  }
  LeaveOutOtherOptimizers(target, golden, target_tree, golden_tree, &out);
  return out;
}

Alignment AlignmentOf(const Comparison& comparison) {
  Alignment out;
  out.calls.reserve(comparison.groups.size());
  for (const ComparedGroup& group : comparison.groups) {
    for (size_t i = group.first_row; i < group.first_row + group.row_count; ++i) {
      const ComparedRow& row = comparison.rows[i];
      if (row.golden == nullptr) continue;
      out.calls.push_back(
          {static_cast<int32_t>(row.target->api), static_cast<int32_t>(row.golden->api)});
      break;
    }
  }
  return out;
}

}  // namespace sonde::precision
