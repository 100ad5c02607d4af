"""Stands in for the forward of modules that call no hooks."""

import copy
import functools
from typing import Any, Callable


class StandIn:
    """Stands in for the ``forward`` of one module whose hooks may never be called."""

    def __init__(self, modules: Any, module: Any, prefix: str) -> None:
        self._module = module
        self._modules = modules
        self._prefix = prefix
        self._own = module.__dict__.get("forward")  # None: its class's is called
        self._original = module.forward
        functools.update_wrapper(self, self._original)
        self.put_back()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        modules, module = self._modules, self._module
        calls = modules.collector.nesting.calls
        if not modules.on or (calls and calls[-1].module is module):
            return self._original(*args, **kwargs)  # the hooks were called
        args, kwargs = modules._before(self._prefix, True, module, args, kwargs) or (args, kwargs)
        output = None
        try:
            output = self._original(*args, **kwargs)
        finally:
            changed = modules._after(self._prefix, module, args, kwargs, output)
        return output if changed is None else changed

    def __deepcopy__(self, memo: dict) -> Callable:
        """A copy of the module calls its own class's."""
        return functools.partial(type(self._module).forward, copy.deepcopy(self._module, memo))

    def __reduce__(self) -> tuple:
        return (functools.partial, (type(self._module).forward, self._module))

    def put_back(self) -> None:
        """Stands in for it."""
        object.__setattr__(self._module, "forward", self)

    def remove(self) -> None:
        """What was there is called again."""
        if self._module.__dict__.get("forward") is not self:
            return
        if self._own is None:
            del self._module.__dict__["forward"]
        else:
            object.__setattr__(self._module, "forward", self._own)
