"""Gradients of what goes into a call and of what comes out of it.

MindSpore's own pair of an operator that does nothing going forward and calls us going back: one
around all tensors of the arguments, one around those of the result. Values stay what they are to
the last bit. Where nothing asks for gradients it is not called.
"""

import collections
from typing import Any, Callable

_Hook = Callable[[Any], None]


class Around:
    """Around one call. ``outputs(gradients)`` is called with those of the result."""

    def arguments(self, args: Any) -> Any:
        """The arguments, seen on the way back."""
        return args

    def result(self, result: Any) -> Any:
        """The result, seen on the way back."""
        raise NotImplementedError


class Pair(Around):
    """Also ``inputs(gradients)``, with those of the tensors among the arguments, None for one
    without; after ``outputs``."""

    def __init__(self, name: str, outputs: _Hook, inputs: _Hook) -> None:
        from mindspore.ops.operations import _inner_ops

        self._hooks: Any = collections.OrderedDict()
        self._operator = _inner_ops.CellBackwardHook(name, None, self._hooks)
        self._is_second = False
        self._outputs, self._inputs = outputs, inputs
        self._name = name
        self._operator.set_hook_fn(self._receive, _hook_type().BackwardHook)

    def _receive(self, gradients: Any) -> Any:
        if not self._is_second:
            self._is_second = True
            self._outputs(gradients)
            return self._name
        self._is_second = False
        self._inputs(gradients)
        return gradients

    def arguments(self, args: Any) -> Any:
        """The arguments, seen on the way back."""
        return self._operator(args)

    def result(self, result: Any) -> Any:
        """The result, seen on the way back."""
        if isinstance(result, list):
            return list(self._operator(tuple(result)))
        return self._operator(result)


class OnlyResult(Around):
    """Where no argument can have a gradient."""

    def __init__(self, name: str, outputs: _Hook, inputs: _Hook) -> None:
        from mindspore import Tensor, ops

        self._tensor = Tensor
        self._operator = ops.HookBackward(outputs)

    def result(self, result: Any) -> Any:
        """The result, seen on the way back."""
        if isinstance(result, (list, tuple)):
            are_tensors = all(isinstance(item, self._tensor) for item in result)
            return type(result)(self._operator(*result)) if are_tensors and result else result
        return self._operator(result) if isinstance(result, self._tensor) else result


class Each:
    """For operators that a cell holds: each argument is seen by itself, in the order in which
    gradients come."""

    def __init__(self, hook: _Hook) -> None:
        from mindspore import ops

        self._operator = ops.HookBackward(lambda gradients: hook(_first(gradients)))

    def around(self, tensor: Any) -> Any:
        """The same tensor, seen on the way back."""
        return self._operator(tensor)


def _first(gradients: Any) -> Any:
    return gradients[0] if isinstance(gradients, tuple) else gradients


def _hook_type() -> Any:
    from mindspore._c_expression import HookType

    return HookType


def is_asked_for() -> bool:
    """Whether the calls that run now are to have gradients."""
    try:
        from mindspore.graph.api import _pynative_executor
    except ImportError:  # until 2.9
        from mindspore.common.api import _pynative_executor
    return bool(_pynative_executor.grad_flag())
