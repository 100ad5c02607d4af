"""Hooks of ours on modules of the program, and how they are taken off for a while.

A module that has hooks costs time at every call even if they do nothing.
"""

import functools
from typing import Any, Callable


class Hook(functools.partial):
    """A hook of ours on an object of the program: copies of that share it, files leave it out."""

    def __deepcopy__(self, _memo: Any) -> "Hook":
        return self

    def __reduce__(self) -> tuple:
        return (_forgotten, ())


def _forgotten() -> Callable:
    return _nothing


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    """What a hook of ours is once it was read from a file."""


class Hung:
    """A registered hook that can be taken off and put back, cheaper than registering it again."""

    __slots__ = ("_first", "_id", "_places")

    def __init__(self, handle: Any, first: bool = False) -> None:
        self._id = handle.id
        self._first = first  # it is called before all others
        references = (handle.hooks_dict_ref, *handle.extra_dict_ref)
        self._places = [
            (place, place[handle.id])
            for place in (reference() for reference in references)
            if place is not None and handle.id in place
        ]

    def remove(self) -> None:
        """Takes it off; a second time does nothing."""
        number = self._id
        for place, _ in self._places:
            place.pop(number, None)

    def put_back(self) -> None:
        """Puts it where it was among the hooks of others."""
        number = self._id
        for place, hook in self._places:
            place[number] = hook
        order = self._places[0][0] if self._places else ()
        if len(order) == 1:
            return
        if self._first:
            order.move_to_end(number, last=False)
        else:  # numbers count up
            for later in [key for key in order if key > number]:
                order.move_to_end(later)


def make_node(torch: Any) -> Callable:
    """apply(receive, *tensors) sends tensors through one autograd node, which calls ``receive``
    with their gradients and passes them on; undefined ones stay so."""

    class BackwardHookFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, receive: Callable, *tensors: Any) -> Any:
            ctx.receive = receive
            ctx.set_materialize_grads(False)
            return tensors

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            ctx.receive(gradients)
            return (None, *gradients)

    return BackwardHookFunction.apply
