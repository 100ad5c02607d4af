"""The list of APIs that are recorded, and how much each of them matters.

The list is ``support_wrap_ops.yaml`` beside this file, or the file that ``SONDE_PROBE_OPS`` names:
``category:`` and below it ``  - name``, one a line. Names that the running torch lacks are ignored.
"""

import functools
import os

OPS_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "support_wrap_ops.yaml")
CUSTOM_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "custom_wrap_ops.yaml")

# `linear` and `chain_matmul` are none of them: existing dumps show that.
_CORE = frozenset(
    """
    _fused_adamw_ _fused_adam_ matmul __matmul__ bmm addmm addmm_ addbmm addbmm_ baddbmm baddbmm_
    mm mv addmv addmv_ addr addr_ conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d conv_tbc convolution _convolution bilinear batch_norm instance_norm layer_norm
    group_norm local_response_norm _batch_norm_impl_index batch_norm_elemt batch_norm_stats
    batch_norm_update_stats batch_norm_gather_stats batch_norm_gather_stats_with_counts
    batch_norm_backward_elemt batch_norm_backward_reduce embedding embedding_bag
    multi_head_attention_forward scaled_dot_product_attention
    """.split()
)
_CORE_CATEGORIES = ("mindspeed", "torch_npu", "distributed", "npu_distributed")

LOW_RISK = frozenset(
    """
    squeeze unsqueeze reshape reshape_as view view_as flatten unflatten expand expand_as repeat
    repeat_interleave tile transpose permute moveaxis movedim swapaxes swapdims chunk
    unsafe_chunk split split_with_sizes unsafe_split unsafe_split_with_sizes tensor_split hsplit
    vsplit dsplit unbind stack cat concat concatenate hstack vstack dstack column_stack
    row_stack align_as align_to atleast_1d atleast_2d atleast_3d ravel clamp unfold type_as to
    float double int long half bfloat16 byte char bool cfloat numpy empty empty_like zeros
    zeros_like ones ones_like full full_like arange linspace logspace eye identity diag diagflat
    diag_embed triu tril triu_indices tril_indices clone __bool__ stride
    """.split()
)


def read_lists(path: str) -> "dict[str, list[str]]":
    """Categories and names of a file of that form. Raises ``ValueError`` with the line."""
    lists: dict[str, list[str]] = {}
    names: list[str] = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            if text.startswith("-"):
                name = text[1:].strip().strip("'\"")
                if not name or not lists:
                    raise ValueError(f"{path}, line {number}: a name without a category")
                names.append(name)
            elif text.endswith(":"):
                names = lists.setdefault(text[:-1].strip().strip("'\""), [])
            elif text.endswith("]") and ":" in text:
                category, _, rest = text.partition(":")
                inner = rest.strip().strip("[]")
                names = lists.setdefault(category.strip(), [])
                names.extend(part.strip().strip("'\"") for part in inner.split(",") if part.strip())
            else:
                raise ValueError(f"{path}, line {number}: neither 'category:' nor '- name'")
    return lists


@functools.cache
def supported() -> "dict[str, list[str]]":
    """The list in use."""
    return read_lists(os.environ.get("SONDE_PROBE_OPS") or OPS_FILE)


# What computes and is on no list of the reference, by its categories: a search for the first NaN
# would blame the next call for theirs.
MORE_OF_NAN_WATCH = {
    "functional": "rms_norm grouped_mm scaled_mm scaled_grouped_mm linear_cross_entropy".split(),
    "tensor": (
        "__itruediv__ subtract_ cross index_reduce index_reduce_ scatter_reduce scatter_reduce_ "
        "select_scatter sparse_mask trace put istft dequantize masked_fill_"
    ).split(),
    "torch": (
        "batch_norm rms_norm complex corrcoef gradient index_reduce scatter_reduce segment_reduce "
        "select_scatter slice_scatter trace trapezoid native_dropout rnn_tanh rnn_relu "
        "rnn_tanh_cell rnn_relu_cell dequantize put view_as_complex"
    ).split(),
}


@functools.cache
def _core() -> "frozenset[str]":
    names = {
        name.rpartition(".")[2]
        for category in _CORE_CATEGORIES
        for name in supported().get(category, [])
    }
    return _CORE | names


def is_core(api: str) -> bool:
    """Whether the risk level CORE keeps an API of this bare name."""
    return api in _core()
