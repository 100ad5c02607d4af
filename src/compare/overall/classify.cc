#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>

#include "base/strings.h"
#include "compare/frame/communicates.h"
#include "compare/frame/name_predicate.h"
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

bool IsUnitOp(std::string_view name) {
  const std::string lower = base::ToLower(name);
  return IsFlashOp(lower) || IsConvOp(lower) || IsMatmulOp(lower);
}

bool IsCubeOfGpu(std::string_view name) {
  return HasAny(base::ToLower(name), {"gemm", "conv", "cutlass", "wgrad", "gemvx"});
}

bool IsTransKernel(std::string_view name) {
  return HasAny(base::ToLower(name), {"cast", "transdata", "transpose"});
}

class Classifier {
 public:
  explicit Classifier(const Side& side)
      : side_(side), gpu_cubes_(side.names, IsCubeOfGpu), trans_(side.names, IsTransKernel) {
    NamePredicate units(side.names, IsUnitOp);
    for (const Op& op : side.ops) {
      if (units.Of(op.name)) units_.push_back(&op);
    }
  }

  std::vector<KernelClass> Run() {
    std::vector<KernelClass> classes(side_.kernels.size(), KernelClass::kNotKnown);
    for (const uint32_t place : Order()) classes[place] = ClassOf(side_.kernels[place]);
    return classes;
  }

 private:
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
    return side_.IsNpu() || !Communicates(side_, kernel);
  }

  bool IsCube(const Kernel& kernel) {
    if (side_.kind == SideKind::kGpu || side_.kind == SideKind::kCpu) {
      return gpu_cubes_.Of(kernel.name);
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
      if (const Op* unit = UnitAt(kernel.launch_ns)) return ClassIn(*unit, kernel);
    }
    return ClassAlone(kernel);
  }

  // The first of those that have not ended, where it has begun. Moments come in order.
  const Op* UnitAt(int64_t ts) {
    while (next_ < units_.size() && units_[next_]->end_ns < ts) ++next_;
    return next_ < units_.size() && units_[next_]->begin_ns <= ts ? units_[next_] : nullptr;
  }

  const std::string& UnitName(int32_t name) {
    std::string& lower = unit_names_[name];
    if (lower.empty()) lower = base::ToLower(side_.Name(name));
    return lower;
  }

  KernelClass ClassIn(const Op& unit, const Kernel& kernel) {
    const bool is_cube = IsCube(kernel);
    const std::string& lower = UnitName(unit.name);
    const bool is_backward = IsBackwardName(lower);
    if (IsFlashOp(lower)) {
      if (is_backward) {
        return is_cube ? KernelClass::kFlashBackwardCube : KernelClass::kFlashBackwardVector;
      }
      return is_cube ? KernelClass::kFlashForwardCube : KernelClass::kFlashForwardVector;
    }
    if (IsConvOp(lower)) {
      const bool is_on_backward_thread = side_.kind != SideKind::kNpuDb &&
                                         side_.backward_thread != kNone &&
                                         unit.thread == side_.backward_thread;
      if (is_backward || is_on_backward_thread) {
        return is_cube ? KernelClass::kConvBackwardCube : KernelClass::kConvBackwardVector;
      }
      return is_cube ? KernelClass::kConvForwardCube : KernelClass::kConvForwardVector;
    }
    return is_cube ? KernelClass::kMatmulCube : KernelClass::kMatmulVector;
  }

  KernelClass ClassAlone(const Kernel& kernel) {
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
    const bool is_trans = side_.IsNpu() && trans_.Of(kernel.name);
    return is_trans ? KernelClass::kVectorTrans : KernelClass::kVectorOther;
  }

  using NamesPredicate = NamePredicate<std::vector<std::string>, bool (*)(std::string_view)>;

  const Side& side_;
  NamesPredicate gpu_cubes_;
  NamesPredicate trans_;
  std::map<int32_t, std::string> unit_names_;  // in small letters
  std::vector<const Op*> units_;  // operators whose kernels have a class of their own, by begin
  size_t next_ = 0;
};

}  // namespace

std::vector<KernelClass> Classify(const Side& side) { return Classifier(side).Run(); }

}  // namespace sonde::compare
