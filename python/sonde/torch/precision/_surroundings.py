"""Distinguishes calls of an optimizer's step and of gradient clipping from the model's.

In place while a step is recorded; ``unhook()`` leaves torch as it was.
"""

from typing import Any, Callable

_CLIPPING = ("clip_grad_norm_", "clip_grad_norm", "clip_grad_value_")


class Surroundings:
    """Sets ``status`` to what runs, and back to an empty text."""

    def __init__(self, torch: Any, status: Callable[[str], None]) -> None:
        self._torch = torch
        self._status = status
        self._handles: list[Any] = []
        self._clipping: dict[str, tuple[Callable, Callable]] = {}  # ours and torch's

    def hook(self) -> None:
        """Idempotent."""
        if self._handles:
            return
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        self._handles = [
            register_optimizer_step_pre_hook(lambda *_: self._status("optimizer")),
            register_optimizer_step_post_hook(lambda *_: self._status("")),
        ]
        utils = self._torch.nn.utils
        for name in _CLIPPING:
            if hasattr(utils, name):
                function = getattr(utils, name)
                self._clipping[name] = (self._wrapped(function), function)
                setattr(utils, name, self._clipping[name][0])

    def unhook(self) -> None:
        """What others have put over ours meanwhile stays."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        utils = self._torch.nn.utils
        for name, (ours, function) in self._clipping.items():
            if getattr(utils, name, None) is ours:
                setattr(utils, name, function)
        self._clipping.clear()

    def _wrapped(self, function: Callable) -> Callable:
        def clip(*args: Any, **kwargs: Any) -> Any:
            self._status("clip_grad")
            try:
                return function(*args, **kwargs)
            finally:
                self._status("")

        clip.__name__ = getattr(function, "__name__", "clip")
        return clip
