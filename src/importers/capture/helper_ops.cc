#include "importers/capture/helper_ops.h"

#include <algorithm>
#include <array>

namespace sonde::importers::capture_import {
namespace {

constexpr std::string_view kLibrary = "aten::";

// Sorted, without the prefix.
constexpr std::array kHelpers = std::to_array<std::string_view>({
    "_reshape_alias",
    "_reshape_copy",
    "_to_copy",
    "_unsafe_view",
    "alias",
    "as_strided",
    "as_strided_",
    "chunk",
    "clone",
    "contiguous",
    "copy_",
    "detach",
    "detach_",
    "diagonal",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "expand",
    "expand_as",
    "fill_",
    "flatten",
    "full",
    "full_like",
    "lift_fresh",
    "movedim",
    "narrow",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_zeros",
    "ones",
    "ones_like",
    "permute",
    "reshape",
    "resize_",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "scalar_tensor",
    "select",
    "set_",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "squeeze_",
    "swapaxes",
    "t",
    "t_",
    "to",
    "transpose",
    "transpose_",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "unsqueeze_",
    "view",
    "view_as",
    "zero_",
    "zeros",
    "zeros_like",
});
static_assert(std::ranges::is_sorted(kHelpers));

}  // namespace

bool IsHelperOp(std::string_view name) {
  if (name.starts_with(kLibrary)) name.remove_prefix(kLibrary.size());
  return std::ranges::binary_search(kHelpers, name);
}

}  // namespace sonde::importers::capture_import
