"""Puts wrappers in the place of the listed functions of torch, and takes them away again.

Only the outermost wrapped call of a thread is recorded; every one counts, also those that a filter
leaves out, so that the numbers in names agree between dumps.
"""

import functools
import importlib
import re
from typing import Any, Callable, Optional

from sonde.torch.precision import (
    _custom_ops,
    _errors,
    _function_modes,
    _names,
    _native_probe,
    _triton,
)
from sonde.torch.precision._collector import Collector
from sonde.torch.precision._custom_ops import changed_values
from sonde.torch.precision._ignored import masked
from sonde.torch.precision._nan_watch import before_change, is_in_place

_DROPOUTS = frozenset(
    f"Functional.{name}" for name in ("dropout", "dropout1d", "dropout2d", "dropout3d")
) | {"Torch.dropout"}
_MODULE_PATH = re.compile(r"^[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)*$")
_FUNCTION = re.compile(r"^[a-zA-Z_]\w*$")


# Calls that find nothing to do before all wrappers are taken away: short pauses cost less than
# putting them back, and before the first recording models are built, which keep what they find.
# Calls that only a running model makes count for many.
_IDLE_CALLS, _RUNNING_CALLS = 200000, 1000
# CPython counts the versions of a class, 1000 at most (since 3.13): after that no look-up in it, or
# in what inherits from it, is ever cached again. Taking wrappers away and putting them back uses
# two; after so many times those of classes stay, switched off.
_MAX_REMOVALS = 100
_RUNNING = re.compile(r"^(Functional|Torch|Tensor)\.")


class Api:
    """One name of the dump, "Torch.add"; calls are counted by the native side."""

    __slots__ = ("changes", "is_distributed", "is_kernel", "is_masked", "name", "number")

    def __init__(self, name: str, changes: "Optional[dict[int, str]]" = None) -> None:
        self.name = name
        self.changes = changes or {}  # arguments that a call writes to
        self.number = 0
        self.is_distributed = name.startswith("Distributed.")
        self.is_kernel = name.startswith("Triton.")
        self.is_masked = name.startswith(("Distributed.", "NPU."))


class Apis:
    """All wrappers of the process; what a call does is in ``adapt/probe/api_calls.h``."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.collector: Optional[Collector] = None
        self.installed = False
        self._stays_on_classes = False  # wrappers are there, though not installed
        self._removals = 0
        self._apis: dict[str, Api] = {}
        self._more: set[str] = set()  # names of what only nan_watch looks at
        self.namespaces: set[str] = set()  # of the operators of libraries that are wrapped
        self._places: list[tuple[Any, str, Any, bool, Any]] = []
        self._customs: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._kernel_classes: set[type] = set()
        self._pending: dict[int, tuple[Any, Callable[[], None]]] = {}
        self._batches: list[tuple[list, Callable[[], None]]] = []
        setup = {
            "before": self._before,
            "after": self._after,
            "backward": self._backward,
            "failed": self._failed,
            "refused": self._refused,
            "idle": self.remove,
            "has_nan": self._has_nan,
            "is_grad_enabled": torch.is_grad_enabled,
            "tensor_class": torch.Tensor,
            "before_change": functools.partial(before_change, torch),
            **_function_modes.callbacks(torch),
        }
        self.functions = _native_probe.api_functions(setup)

    # Which

    def install(self) -> None:
        """Wraps what is there; wrappers are made once and put back later."""
        if not self._places:
            for category, prefix, sources, targets in self._categories():
                for name in _names.supported().get(category, []):
                    self._plan(name, prefix, sources, targets)
            self._wrap_wait()
            self._hide_hooks()
            self._open_to_scripts()
        if self.collector is not None and self.collector.finds_nan:
            self._plan_more()
        for holder, name, wrapper, was_own, original in self._places:
            if self._stays_on_classes and isinstance(holder, type):
                continue
            # What a program has put there since stays.
            if vars(holder).get(name) is (original if was_own else None):
                setattr(holder, name, wrapper)
        self.installed = True
        self._stays_on_classes = False

    def remove(self, entirely: bool = False) -> None:
        """Puts the original functions back; those of classes only so often, but ``entirely``."""
        if not self.installed and not (entirely and self._stays_on_classes):
            return
        self._removals += 1
        stays = self._removals > _MAX_REMOVALS and not entirely
        for holder, name, wrapper, was_own, original in self._places:
            is_class = isinstance(holder, type)
            if is_class and stays or not is_class and not self.installed:
                continue
            if vars(holder).get(name) is not wrapper:
                continue
            if was_own:
                setattr(holder, name, original)
            else:
                delattr(holder, name)
        self.installed = False
        self._stays_on_classes = stays

    def _categories(self) -> "list[tuple[str, str, list, list]]":
        torch = self.torch
        found = [
            ("functional", "Functional", [torch.nn.functional], [torch.nn.functional]),
            ("tensor", "Tensor", [torch.Tensor], [torch.Tensor]),
            ("torch", "Torch", [torch], [torch]),
            ("_VF", "VF", [torch._C._VariableFunctionsClass], [torch._VF]),
        ]
        if torch.distributed.is_available():
            from torch.distributed import distributed_c10d

            both = [torch.distributed, distributed_c10d]
            found.append(("distributed", "Distributed", both, both))
        npu = _module_if_loaded("torch_npu")
        if npu is not None:
            found.append(("torch_npu", "NPU", [torch.ops.npu, npu], [npu, torch.ops.npu]))
        return found

    def _plan_more(self) -> None:
        """What only the task nan_watch looks at."""
        if self._more:
            return
        listed = _names.supported()
        for category, prefix, sources, targets in self._categories():
            for name in _names.MORE_OF_NAN_WATCH.get(category, []):
                if name not in listed.get(category, []):
                    self._more.add(f"{prefix}.{name}")
                    self._plan(name, prefix, sources, targets)

    def _plan(self, name: str, prefix: str, sources: list, targets: list) -> None:
        path, _, last = name.rpartition(".")
        api = self._api(f"{prefix}.{last}")
        wrappers: dict[int, tuple[Any, Any]] = {}
        for source, target in zip(sources, targets):
            for part in filter(None, path.split(".")):
                source, target = getattr(source, part, None), getattr(target, part, None)
            original = getattr(source, last, None)
            if target is None or not callable(original):
                continue
            if id(original) not in wrappers:
                wrappers[id(original)] = (original, self._wrapper(api, original))
            was_own = last in vars(target)
            before = vars(target)[last] if was_own else None
            self._places.append((target, last, wrappers[id(original)][1], was_own, before))

    def _api(self, name: str, changes: "Optional[dict[int, str]]" = None) -> Api:
        api = self._apis.get(name)
        if api is None:
            api = self._apis[name] = Api(name, changes)
            is_special = api.is_masked or api.is_kernel or bool(api.changes)
            is_dropout = name in _DROPOUTS
            short = name.rpartition(".")[2]
            is_running = bool(_RUNNING.match(name)) and (_names.is_core(short) or short == "linear")
            idle = _RUNNING_CALLS if is_running else 1
            api.number = self.functions["add"](
                name, is_special, is_dropout, api, idle, is_in_place(short)
            )
        return api

    def add_operators(self, namespaces: "list[str]") -> None:
        """Wraps operators that were registered since the last time."""
        for name, changes in _custom_ops.registered(self.torch, namespaces).items():
            self.namespaces.add(name.partition(".")[0])
            if name in self._apis:
                continue
            namespace, _, operator = name.partition(".")
            holder = getattr(self.torch.ops, namespace)
            original = getattr(holder, operator, None)
            if not callable(original):
                continue
            wrapper = self._wrapper(self._api(name, changes), original)
            self._places.append((holder, operator, wrapper, True, original))
            if self.installed:
                setattr(holder, operator, wrapper)

    def add_kernels(self) -> None:
        """Wraps launches of Triton's kernels, where that has been loaded since the last time."""
        for kind in _triton.loaded_classes():
            if kind in self._kernel_classes:
                continue
            self._kernel_classes.add(kind)
            original = kind.__dict__["run"]
            wrapper = _triton.launching(original, self._kernel)
            self._places.append((kind, "run", wrapper, True, original))
            if self.installed:
                kind.run = wrapper  # type: ignore[attr-defined]  # Triton's

    def _kernel(self, name: str, original: Any) -> Any:
        is_new = name not in self._apis
        api = self._api(name)
        if is_new and self.collector is not None:
            wanted = self.collector.scope.static_filter()
            self.functions["set_wanted"](api.number, wanted is None or bool(wanted(name)))
        return self._wrapper(api, original)

    def _wrapper(self, api: Api, original: Any) -> Any:
        return self.functions["wrap"](api.number, original)

    def add_custom(self, module: Any, function: str, prefix: str) -> None:
        """Wraps one more function; a second time does nothing."""
        key = (id(module), function)
        if key in self._customs:
            return
        original = getattr(module, function)
        self._customs[key] = (module, function, original)
        setattr(module, function, self._wrapper(self._api(f"{prefix}.{function}"), original))

    def remove_custom(self, module: Any, function: str) -> bool:
        """Puts the original of a further function back."""
        found = self._customs.pop((id(module), function), None)
        if found is None:
            return False
        setattr(module, function, found[2])
        return True

    def add_listed_customs(self, path: str = _names.CUSTOM_FILE) -> None:
        """Wraps what ``custom_wrap_ops.yaml`` lists."""
        try:
            lists = _names.read_lists(path)
        except (OSError, ValueError) as problem:
            _errors.warning(f"{path} is not read: {problem}")
            return
        for module_name, functions in lists.items():
            if not _MODULE_PATH.match(module_name):
                _errors.warning(f"{path}: {module_name} is no module path")
                continue
            try:
                module = importlib.import_module(module_name)
            except ImportError as problem:
                _errors.warning(f"{path}: {problem}")
                continue
            for function in functions:
                if _FUNCTION.match(function) and hasattr(module, function):
                    self.add_custom(module, function, module_name)
                else:
                    _errors.warning(f"{path}: {module_name} has no function {function}")

    # When

    def use(self, collector: Collector) -> None:
        """Another collector decides what is recorded."""
        self.collector = collector
        wanted = collector.scope.static_filter()
        for api in self._apis.values():
            is_ours = collector.finds_nan or api.name not in self._more
            is_wanted = wanted is None or bool(wanted(api.name))
            self.functions["set_wanted"](api.number, is_ours and is_wanted)

    def switch(self, on: bool, with_listed: bool = True) -> None:
        """Whether calls are recorded: of all functions, or of those that the program registered."""
        if on and with_listed and not self.installed:
            self.install()
        on = on and (with_listed or bool(self._customs))
        self.functions["switch"](on, _IDLE_CALLS if self.installed else 0)

    def reset(self) -> None:
        """A step has ended."""
        self.functions["reset"]()
        self._pending.clear()
        self._batches.clear()

    # Calls with rules of their own

    def _before(self, api: Api, name: str, args: tuple, kwargs: "dict[str, Any]") -> None:
        if api.is_masked:
            args, kwargs = masked(name, "input", args, kwargs)
        self.collector.forward_inputs(name, args, kwargs)

    def _after(
        self, api: Api, name: str, args: tuple, kwargs: "dict[str, Any]", result: Any
    ) -> None:
        collector = self.collector
        if collector.finds_nan:
            self._found_nan(api, name, args, kwargs, result)
            return
        if api.is_kernel:
            collector.forward_outputs(name, _triton.written(self.torch, args, kwargs))
            return
        if api.changes:
            changed = changed_values(api.changes, args, kwargs)
            collector.forward_outputs(name, (*_as_given(result), *changed))
            return
        if not api.is_distributed:
            if api.is_masked and isinstance(result, tuple):
                result = masked(name, "output", result, {})[0]
            written = args[:1] if result is None else ()
            collector.forward_outputs(name, result, written=written)
            return
        values = masked(name, "output", (*args, *kwargs.values()), {})[0]
        collector.forward_outputs(name, values)
        later = functools.partial(self._record_late, name, values)
        short = api.name.rpartition(".")[2]
        if short == "batch_isend_irecv" and isinstance(result, list):
            self._batches.append((list(result), later))
        elif result is not None and (
            kwargs.get("async_op")
            or short in ("isend", "irecv")
            or any(item is True for item in args)
        ):
            self._pending[id(result)] = (result, later)

    def _found_nan(
        self, api: Api, name: str, args: tuple, kwargs: "dict[str, Any]", result: Any
    ) -> None:
        """A call whose results have NaN, or one whose results only this side knows."""
        results = result
        if api.is_kernel:
            results = _triton.written(self.torch, args, kwargs)
        elif api.changes:
            results = (*_as_given(result), *changed_values(api.changes, args, kwargs))
        elif api.is_distributed:
            # What is still under way holds what was there before.
            results = (*args, *kwargs.values()) if result is None else None
        elif result is None and args:
            results = args[0]
        is_looked_at = not (api.is_masked or api.is_kernel or api.changes)
        if is_looked_at or self.functions["has_nan"](results):
            self.collector.found_nan(name, args, kwargs, results)

    def _has_nan(self, tensor: Any) -> bool:
        """Of a tensor whose memory the native side cannot read."""
        torch = self.torch
        if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.device.type == "meta":
            return False
        values = tensor.detach()
        if values.layout is torch.sparse_coo:
            values = values._values()
        elif values.layout is not torch.strided:
            values = values.values()
        return bool(torch.isnan(values).any())

    def _backward(self, _api: Api, name: str, gradients_in: Any, gradients_out: Any) -> None:
        self.collector.backward(name, gradients_in, gradients_out)

    def _failed(self, problem: BaseException) -> None:
        self.collector.failed(problem)

    def _refused(self, name: str) -> None:
        _errors.warning(
            f"Cannot collect precision data of {name}. It may be fixed by passing the "
            'value of "self" as a positional argument instead of a keyword argument. '
        )

    def _record_late(self, name: str, values: tuple) -> None:
        collector = self.collector
        if collector.running:
            collector.forward_outputs(name, values)

    def _hide_hooks(self) -> None:
        """What the program's own backward hooks make torch call is no call of the program's."""
        node = self.torch.nn.modules._functions.BackwardHookFunction
        original, functions = node.apply, self.functions

        @functools.wraps(original)
        def apply(*tensors: Any) -> Any:
            was_free = functions["enter"]()
            try:
                return original(*tensors)
            finally:
                if was_free:
                    functions["leave"]()

        before = vars(node).get("apply")
        self._places.append((node, "apply", staticmethod(apply), before is not None, before))

    def _open_to_scripts(self) -> None:
        """torch.jit.script reads the source of what a function calls: torch's own."""
        jit = self.torch.jit
        original = jit.script

        @functools.wraps(original)
        def script(*args: Any, _frames_up: int = 0, **kwargs: Any) -> Any:
            was_installed = self.installed
            self.remove(entirely=True)
            try:
                return original(*args, _frames_up=_frames_up + 1, **kwargs)
            finally:
                if was_installed:
                    self.install()

        self._places.append((jit, "script", script, True, original))

    # Collectives that end later

    def _wrap_wait(self) -> None:
        if not self.torch.distributed.is_available():
            return
        work = self.torch.distributed.Work
        original = work.wait

        @functools.wraps(original)
        def wait(handle: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(handle, *args, **kwargs)
            if self._pending or self._batches:
                self._waited(handle)
            return result

        before = vars(work).get("wait")
        self._places.append((work, "wait", wait, before is not None, before))

    def _waited(self, handle: Any) -> None:
        was_free = self.functions["enter"]()
        try:
            found = self._pending.pop(id(handle), None)
            if found is not None:
                found[1]()
                return
            for batch in list(self._batches):
                handles, later = batch
                if any(item is handle for item in handles):
                    handles[:] = [item for item in handles if item is not handle]
                    if not handles:
                        self._batches.remove(batch)
                        later()
                    return
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self.collector.failed(problem)
        finally:
            if was_free:
                self.functions["leave"]()


def _as_given(result: Any) -> tuple:
    return () if result is None else result if isinstance(result, tuple) else (result,)


def _module_if_loaded(name: str) -> Any:
    import sys

    return sys.modules.get(name)
