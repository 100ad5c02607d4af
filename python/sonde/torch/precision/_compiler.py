"""What the probe takes away while ``torch.compile`` works, and puts back behind it.

The compiler must see torch's own functions, so wrappers of functions are away. A hook breaks the
graph in two, which a function that is compiled with ``fullgraph=True`` refuses: of such a one the
hooks of all modules are away, too, and the modules that it calls are seen from outside only. Where
graphs say what the modules computed (``_graph_complete``) they are always away.
"""

import sys
from types import FrameType
from typing import Any, Optional

from sonde.torch.precision import _errors
from sonde.torch.precision._apis import Apis
from sonde.torch.precision._modules import Modules
from sonde.torch.precision._whole_graph import is_inductor

# From the compiler's callback out to the function that knows what is compiled, and how.
_FRAMES = 12


class _Watch:
    def __init__(self, apis: Apis, modules: Modules) -> None:
        self._apis = apis
        self._modules = modules
        self._depth = 0
        self._has_removed = False
        self._has_hidden = False
        self._reported: set[Any] = set()

    def begin(self, *_args: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._has_removed = self._apis.installed
        self._apis.remove(entirely=True)
        compiled = _compilation()
        is_inductors = self._modules.has_inductors and _is_of_inductor(compiled)
        if self._modules.has_graphs or is_inductors:
            self._has_hidden = self._modules.hide()
            return
        whole = _whole_function(compiled)
        if whole is None:
            return
        code, frame = whole
        self._has_hidden = self._modules.hide()
        owner = getattr(frame, "f_locals", {}).get("self")
        # A module is compiled by a stand-in of torch's, and reported when it is hooked.
        is_module = id(owner) in self._modules.closed or "/torch/_dynamo/" in code.co_filename
        if self._has_hidden and code not in self._reported and not is_module:
            self._reported.add(code)
            _errors.warning(
                f"{code.co_name}() ({code.co_filename}:{code.co_firstlineno}) is compiled with "
                "fullgraph=True: modules that it calls are no entries, since a look at them would "
                "break the graph; compile without it to see them."
            )

    def end(self, *_args: Any) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        if self._has_removed:
            self._has_removed = False
            self._apis.install()
        if self._has_hidden:
            self._has_hidden = False
            self._modules.show()


def _compilation() -> Optional[FrameType]:
    """The frame of torch's function that compiles now."""
    at: Optional[FrameType] = sys._getframe(2)
    for _ in range(_FRAMES):
        if at is None:
            return None
        if at.f_code.co_name == "_compile" and {"one_graph", "compiler_fn"} <= at.f_locals.keys():
            return at
        at = at.f_back
    return None


def _is_of_inductor(compiled: Optional[FrameType]) -> bool:
    return compiled is not None and is_inductor(compiled.f_locals.get("compiler_fn"))


def _whole_function(compiled: Optional[FrameType]) -> "Optional[tuple[Any, Any]]":
    """The code that is being compiled, and its frame, if it may not be broken into pieces."""
    known = compiled.f_locals if compiled is not None else {}
    code = known.get("code")
    if not known.get("one_graph") or code is None:
        return None
    outer = compiled
    while outer is not None and outer.f_locals.get("frame") is None:
        outer = outer.f_back
    return code, None if outer is None else outer.f_locals["frame"]


def watch(apis: Apis, modules: Modules) -> bool:
    """False where the compiler is not loaded yet: that takes seconds, and only graphs need it."""
    if "torch._dynamo" not in sys.modules and not modules.has_graphs:
        return False
    from torch._dynamo.callback import callback_handler

    watching = _Watch(apis, modules)
    forget = callback_handler.clear

    def clear() -> None:  # torch._dynamo.reset() does it
        forget()
        follow()

    def follow() -> None:
        callback_handler.register_start_callback(watching.begin)
        callback_handler.register_end_callback(watching.end)

    callback_handler.clear = clear
    follow()
    _leave_us_out()
    return True


def _leave_us_out() -> None:
    """Hooks are called, not compiled: the compiler would warn of each function of C in them."""
    from torch._dynamo import trace_rules

    add = getattr(trace_rules, "add", None)  # since torch 2.2
    if add is not None:
        add(__name__.rpartition(".")[0])
