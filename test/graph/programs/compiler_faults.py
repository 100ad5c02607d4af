"""Faults of a compiler, planted one at a time: ``FAULTS`` has for each the part (``parts.py``) that
shows it, where in the compiler it is, and what plants it.

``switch``: Inductor's own for tests. ``code``: wrong C++ for an operator. ``lowering``: a wrong
loop for a node. ``decomposition`` and ``pass``: a wrong graph, whose kernels compute what it says.
"""

import torch
import torch._inductor.config as config
from torch._inductor import decomposition, lowering
from torch._inductor.codegen import cpp

aten = torch.ops.aten
FAULTS = {}


def fault(part, kind):
    def add(plant):
        FAULTS[plant.__name__.replace("_", " ")] = (part, kind, plant)
        return plant

    return add


def swap(wrong, right):
    """C++ for one operator is that of another."""
    for kind in (cpp.CppOverrides, cpp.CppVecOverrides):
        setattr(kind, right, staticmethod(getattr(kind, wrong)))


def lower(operator, change):
    """``change`` gets the right lowering."""
    right = lowering.lowerings[operator]
    lowering.lowerings[operator] = lambda *args, **kwargs: change(right, *args, **kwargs)


def decompose(operator, function):
    decomposition.decompositions[operator] = function
    decomposition.fast_random_decomps.cache_clear()


@fault("relu", "switch")
def relu_of_the_switch():
    config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


@fault("log1p", "switch")
def log1p_of_the_switch():
    config.cpp.inject_log1p_bug_TESTING_ONLY = "accuracy"


@fault("sin", "code")
def sin_is_cos():
    swap("cos", "sin")


@fault("cos", "code")
def cos_is_sin():
    swap("sin", "cos")


@fault("tanh", "code")
def tanh_is_erf():
    swap("erf", "tanh")


@fault("floor", "code")
def floor_is_ceil():
    swap("ceil", "floor")


@fault("rounded", "code")
def round_is_trunc():
    swap("trunc", "round")


@fault("minimum", "code")
def minimum_is_maximum():
    swap("maximum", "minimum")


@fault("sqrt", "code")
def sqrt_is_rsqrt():
    swap("rsqrt", "sqrt")


@fault("gelu", "code")
def erf_is_tanh():
    swap("tanh", "erf")


@fault("where", "code")
def where_has_its_branches_swapped():
    for kind in (cpp.CppOverrides, cpp.CppVecOverrides):
        right = kind.where
        kind.where = staticmethod(lambda a, b, c, right=right: right(a, c, b))


@fault("product", "code")
def product_is_a_sum():
    whole, parts = cpp.reduction_combine, cpp.CppVecKernel.reduction_combine_vec

    def kind_of(kind):
        return "sum" if kind == "prod" else kind

    cpp.reduction_combine = lambda kind, *a, **k: whole(kind_of(kind), *a, **k)
    cpp.CppVecKernel.reduction_combine_vec = lambda self, kind, *a, **k: parts(
        self, kind_of(kind), *a, **k
    )


@fault("largest", "code")
def maximum_begins_at_0():
    right = cpp.reduction_init
    cpp.reduction_init = lambda kind, dtype: 0 if kind == "max" else right(kind, dtype)
    parts = cpp.CppVecKernel.reduction_init_vec
    cpp.CppVecKernel.reduction_init_vec = lambda self, kind, dtype: (
        f"{self._get_vec_type(torch.float)}(0)" if kind == "max" else parts(self, kind, dtype)
    )


@fault("variance", "lowering")
def variance_without_correction():
    def wrong(right, x, axis=None, *, correction=None, keepdim=False):
        return right(x, axis, correction=0, keepdim=keepdim)

    lower(aten.var.correction, wrong)


@fault("addcmul", "lowering")
def addcmul_without_its_factor():
    lower(aten.addcmul.default, lambda right, a, b, c, *, value=1: right(a, b, c, value=1))


@fault("pad", "lowering")
def padding_with_0():
    lower(aten.constant_pad_nd.default, lambda right, x, padding, value=0: right(x, padding, 0))


@fault("power", "lowering")
def cube_is_a_square():
    lower(aten.pow.Tensor_Scalar, lambda right, x, exponent: right(x, exponent - 1))


@fault("hardswish", "decomposition")
def hardswish_with_another_constant():
    decompose(aten.hardswish.default, lambda x: x * (x + 2).clamp(0, 6) / 6)


@fault("norm", "decomposition")
def norm_with_a_large_epsilon():
    right = decomposition.decompositions[aten.native_layer_norm.default]
    decompose(
        aten.native_layer_norm.default, lambda x, shape, w, b, eps: right(x, shape, w, b, 0.1)
    )


@fault("silu", "decomposition")
def silu_with_a_wrong_slope():
    decompose(aten.silu.default, lambda x: x * torch.sigmoid(1.1 * x))


@fault("rsqrt", "decomposition")
def rsqrt_in_16_bits():
    decompose(
        aten.rsqrt.default,
        lambda x: (1 / x.to(torch.bfloat16).to(torch.float32).sqrt()).to(x.dtype),
    )


@fault("roll", "decomposition")
def roll_by_one_more():
    right = decomposition.decompositions[aten.roll.default]
    decompose(aten.roll.default, lambda x, shifts, dims=(): right(x, [shifts[0] + 1], dims))


@fault("difference", "pass")
def a_pass_adds_where_it_should_subtract():
    def wrong(graph):
        for node in list(graph.nodes):
            if node.target is aten.sub.Tensor and aten.cos.default in map(target, node.args):
                node.target = aten.add.Tensor

    def target(argument):
        return getattr(argument, "target", None)

    config.post_grad_custom_pre_pass = wrong
