#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>

#include "base/strings.h"
#include "compare/overall/overall.h"

namespace sonde::compare {
namespace {

bool HasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool IsBackwardName(std::string_view lower) {
  return HasAny(lower, {"bwd", "backward", "back", "grad"});
}
bool IsFlashOp(std::string_view lower) {
  return HasAny(lower, {"flash_attention", "fusion_attention", "flashattn", "xformers_flash",
                        "efficient_attention", "flash2attn"});
}
bool IsConvOp(std::string_view lower) { return HasAny(lower, {"aten::conv"}); }
bool IsMatmulOp(std::string_view lower) {
  return HasAny(lower, {"aten::addmm", "aten::bmm", "aten::mm", "aten::matmul"});
}

bool IsFusedKernel(std::string_view lower) {
  return lower == "allgathermatmul" || lower == "matmulreducescatter" || lower == "matmulallreduce";
}

class Classifier {
 public:
  explicit Classifier(const Side& side) : side_(side) {
    for (const Op& op : side.ops) {
      const std::string lower = base::ToLower(side.Name(op.name));
      if (!IsFlashOp(lower) && !IsConvOp(lower) && !IsMatmulOp(lower)) continue;
      units_.push_back({&op, lower});
    }
  }

  std::vector<KernelClass> Run() {
    std::vector<KernelClass> classes(side_.kernels.size(), KernelClass::kNotKnown);
    for (const uint32_t place : Order()) classes[place] = ClassOf(side_.kernels[place]);
    return classes;
  }

 private:
  struct UnitOp {
    const Op* op;
    std::string lower;
  };

  // By the call that launched them; a database of Ascend's is read by the number of the launch.
  std::vector<uint32_t> Order() const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < side_.kernels.size(); ++i) {
      if (Counts(side_.kernels[i])) order.push_back(i);
    }
    const bool by_number = side_.kind == SideKind::kNpuDb;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const Kernel& x = side_.kernels[a];
      const Kernel& y = side_.kernels[b];
      if (by_number) return x.connection_id < y.connection_id;
      return x.launch_ns < y.launch_ns;
    });
    return order;
  }

  bool Counts(const Kernel& kernel) const {
    if (kernel.core == kNone || kernel.is_communication) return false;
    if (side_.kind == SideKind::kNpuText) {
      return !std::isnan(kernel.vector_us) || !std::isnan(kernel.mac_us);
    }
    return side_.kind != SideKind::kGpu || !side_.Name(kernel.name).starts_with("nccl");
  }

  bool IsCube(const Kernel& kernel) const {
    if (side_.kind == SideKind::kGpu || side_.kind == SideKind::kCpu) {
      return HasAny(base::ToLower(side_.Name(kernel.name)),
                    {"gemm", "conv", "cutlass", "wgrad", "gemvx"});
    }
    if (side_.kind == SideKind::kNpuDb && !side_.has_counters) {
      const std::string_view type = side_.Name(kernel.task_type);
      return type == "KERNEL_AICORE" || type == "KERNEL_MIX_AIC";
    }
    return kernel.mac_us > 0 || kernel.aicore_us > 0;
  }

  KernelClass ClassOf(const Kernel& kernel) {
    if (side_.IsNpu()) {
      const std::string name = base::ToLower(side_.Name(kernel.name));
      if (HasAny(base::ToLower(side_.Name(kernel.type)), {"pagedattention"})) {
        return KernelClass::kPagedAttention;
      }
      if (name.starts_with("aclnninplacecopy") && HasAny(name, {"tensormove"})) {
        return KernelClass::kTensorMove;
      }
      if (IsFusedKernel(name)) return KernelClass::kFused;
    }
    if (kernel.launch_ns > 0) {
      if (const UnitOp* unit = UnitAt(kernel.launch_ns)) return ClassIn(*unit, kernel);
    }
    return ClassAlone(kernel);
  }

  // The first of those that have not ended, where it has begun. Moments come in order.
  const UnitOp* UnitAt(int64_t ts) {
    while (next_ < units_.size() && units_[next_].op->end_ns < ts) ++next_;
    return next_ < units_.size() && units_[next_].op->begin_ns <= ts ? &units_[next_] : nullptr;
  }

  KernelClass ClassIn(const UnitOp& unit, const Kernel& kernel) const {
    const bool is_cube = IsCube(kernel);
    const bool is_backward = IsBackwardName(unit.lower);
    if (IsFlashOp(unit.lower)) {
      if (is_backward) {
        return is_cube ? KernelClass::kFlashBackwardCube : KernelClass::kFlashBackwardVector;
      }
      return is_cube ? KernelClass::kFlashForwardCube : KernelClass::kFlashForwardVector;
    }
    if (IsConvOp(unit.lower)) {
      const bool is_on_backward_thread = side_.kind != SideKind::kNpuDb &&
                                         side_.backward_thread != kNone &&
                                         unit.op->thread == side_.backward_thread;
      if (is_backward || is_on_backward_thread) {
        return is_cube ? KernelClass::kConvBackwardCube : KernelClass::kConvBackwardVector;
      }
      return is_cube ? KernelClass::kConvForwardCube : KernelClass::kConvForwardVector;
    }
    return is_cube ? KernelClass::kMatmulCube : KernelClass::kMatmulVector;
  }

  KernelClass ClassAlone(const Kernel& kernel) const {
    if (side_.IsNpu()) {
      const std::string type = base::ToLower(side_.Name(kernel.type));
      const bool is_fused_text =
          side_.kind == SideKind::kNpuText && HasAny(type, {"fusedinferattention"});
      if (HasAny(type, {"flashattention"}) || is_fused_text) {
        return HasAny(type, {"bwd", "grad"}) ? KernelClass::kFlashBackwardCube
                                             : KernelClass::kFlashForwardCube;
      }
      if (type.starts_with("conv")) {
        return IsBackwardName(type) ? KernelClass::kConvBackwardCube
                                    : KernelClass::kConvForwardCube;
      }
      if (HasAny(type, {"matmul"})) return KernelClass::kMatmulCube;
    }
    if (IsCube(kernel)) return KernelClass::kCube;
    const bool is_trans = side_.IsNpu() && HasAny(base::ToLower(side_.Name(kernel.name)),
                                                  {"cast", "transdata", "transpose"});
    return is_trans ? KernelClass::kVectorTrans : KernelClass::kVectorOther;
  }

  const Side& side_;
  std::vector<UnitOp> units_;  // operators whose kernels have a class of their own, by begin
  size_t next_ = 0;
};

}  // namespace

std::vector<KernelClass> Classify(const Side& side) { return Classifier(side).Run(); }

}  // namespace sonde::compare
