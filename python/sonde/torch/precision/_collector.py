"""What happens at each hook: which entry, which values, which files.

One collector serves one configuration. Everything that goes wrong in here is written to
``dump_error_info.log`` beside the dump and never reaches the user's program.
Threads: hooks come from any thread under the GIL; nesting is kept per thread.
"""

import json
import os
import threading
import time
import traceback
from typing import Any, Callable, Optional

from sonde._new_file import going_on
from sonde.torch.precision import _errors, _native_probe
from sonde.torch.precision._config import Config
from sonde.torch.precision._difference import Difference
from sonde.torch.precision._nan_watch import Finds, before_change, inputs_by_name
from sonde.torch.precision._scope import Scope
from sonde.torch.precision._values import Raw

_FINISH = _native_probe.FINISH
_SAVE = _native_probe.SAVE_TENSORS
_WITH_CONSTRUCT = ("L0", "mix")
_LOOKED_AT = "values that are looked at only"  # an entry that never stays


class Nesting(threading.local):
    """Of one thread: open calls of modules."""

    def __init__(self) -> None:
        self.calls: list = []


class Collector:
    """Turns hooks into entries of the dump."""

    def __init__(self, torch: Any, config: Config, apis: "dict[str, Any]") -> None:
        self.torch = torch
        self.config = config
        # Whether the probe is at work in this thread; see adapt/probe/nesting.h.
        self.enter: Callable[[], bool] = apis["enter"]
        self.leave: Callable[[], None] = apis["leave"]
        self._stop_apis: Callable[[], None] = lambda: apis["switch"](False, 0)
        self.model: Any = None  # where names of modules come from (nan_watch)
        self._waiting: tuple[str, list] = ("", [])  # what open() gets when there is a find
        self.finds = Finds(torch, apis["has_nan"])
        self._difference: Optional[Difference] = None
        if config.task == "diff_check":
            self._difference = Difference(torch, config.bench_path or "")
        self.running = False
        self.nesting = Nesting()
        self.scope = Scope(config)
        self.unsaved = set(config.tensor_list)  # what of it no call has matched so far
        self.is_child = False  # a fork of the process that records
        self.folder: Optional[str] = None
        self._is_whole = True  # nothing of the open step could not be written
        self._is_reported = False  # that something could not, since the last whole step
        self.overflows = 0  # calls with NaN or infinity in their results (overflow_check)
        self._inputs_of: dict[str, tuple] = {}
        self._functions: dict[str, Any] = {}
        self._set_modes()
        self._backward_modules: set[str] = set()
        self._gradient_calls: dict[str, list] = {}
        self._logged: set[type] = set()
        self._set_up([])

    def _set_modes(self) -> None:
        modes = set(self.config.data_mode)
        if "all" in modes:
            modes = {"forward", "backward", "input", "output"}
        if not modes & {"forward", "backward"}:
            modes |= {"forward", "backward"}
        if not modes & {"input", "output"}:
            modes |= {"input", "output"}
        has_values = self.config.task != "structure"
        self.forward_input = has_values and {"forward", "input"} <= modes
        self.forward_output = has_values and {"forward", "output"} <= modes
        self.backward_input = has_values and {"backward", "input"} <= modes
        self.backward_output = has_values and {"backward", "output"} <= modes
        self._watches = self.config.task == "overflow_check"
        self._marks_nan = self.config.task == "nan_check"
        self.finds_nan = self.config.task == "nan_watch"
        self._saves_all = self.config.task == "tensor"
        self._stack_flag = _native_probe.WITH_STACK if self.config.extra_info else 0
        self._filters = self.scope.filters
        given = set(self.config.data_mode)
        self.hooks_gradients = has_values and not ("forward" in given and "backward" not in given)
        self._place_flag = 0
        self.apis_in_construct = False
        if self.config.extra_info and self.config.level in _WITH_CONSTRUCT:
            self._place_flag = _native_probe.PLACE
            self.apis_in_construct = self.config.level == "mix"
        has_all = self.forward_input and self.forward_output
        has_all = has_all and self.backward_input and self.backward_output
        # Whether calls of functions have rules that only this class knows.
        self._is_general = bool(
            not has_all
            or self._filters
            or self._watches
            or self._marks_nan
            or self.finds_nan
            or self._difference is not None
            or self.config.tensor_list
        )

    def _set_up(self, slices: "list[dict]") -> None:
        self._slices = slices
        functions = _native_probe.functions(self.torch, self.config, slices, self.failed)
        self._functions = functions
        self._add: Callable[..., None] = functions["add"]
        self._inputs: Callable[..., None] = functions["inputs"]
        self._outputs: Callable[..., None] = functions["outputs"]
        self._gradients: Callable[..., None] = functions["gradients"]
        self._stack: Callable[[str], None] = functions["stack"]
        self._place: Callable[[str], None] = functions["place"]
        self._begin_module: Callable[[str], None] = functions["begin_module"]
        self._end_module: Callable[[str], None] = functions["end_module"]
        flags = self._stack_flag | (_SAVE if self._saves_all else 0)
        module = self._place_flag and self._place_flag | _native_probe.MODULE
        self._module_inputs = (flags | module) & ~self._place_flag
        self._module_outputs = (flags | module) & ~self._stack_flag
        if self.finds_nan:
            flags |= _native_probe.ONLY_NAN
            flags |= 0 if self.backward_output else _native_probe.NO_BACKWARD
        functions["use"](flags, self._is_general, self.apis_in_construct)

    # The dump

    def expect(self, folder: str, slices: "list[dict]") -> None:
        """A step begins whose files are made when there is something to put into them."""
        self._waiting = (folder, slices)

    def open(self, folder: str, slices: "list[dict]") -> None:
        """Makes the files of one step; continues if they are open."""
        if self.folder == folder and slices == self._slices:
            return
        if slices != self._slices:
            self._set_up(slices)
        config = self.config
        is_debug = config.level == "debug"
        tensors = os.path.join(folder, "dump_tensor_data") if config.saves_tensors else None
        header = {
            "task": config.task,
            "level": config.level,
            "framework": "pytorch",
            "dump_data_dir": tensors,
        }
        head = json.dumps(header, indent=1)[:-2] + ',\n "data": {'
        name = "debug.json" if is_debug else "dump.json"
        extra = config.extra_info and not is_debug
        apis = self.apis_in_construct
        waiting = config.async_dump_limit_mb << 20 if config.async_dump and tensors else 0
        self._functions["open"](folder, name, head, tensors, extra, extra, apis, waiting)
        self.folder = folder
        if self._difference is not None:
            self._difference.open(folder)

    @property
    def is_open(self) -> bool:
        """Whether a step has begun."""
        return self.folder is not None or bool(self._waiting[0])

    @property
    def reads_memory(self) -> bool:
        """Whether tensors are read without calls of Python; see adapt/probe/tensor_memory.h."""
        return self._functions["reads_memory"]()

    def flush(self) -> None:
        """Completes the files of the step so far."""
        if self.folder is None:
            return
        was_free = self.enter()
        try:
            self._functions["settle"]()
        except RuntimeError as problem:
            self._report(str(problem))
        finally:
            if was_free:
                self.leave()
        self._check_writing()

    def end_step(self) -> None:
        """Completes and leaves the step."""
        self.flush()
        self._functions["close"]()
        if self.folder is not None:
            self._is_reported = self._is_reported and not self._is_whole
            self._is_whole = True
        self.folder = None
        self._waiting = ("", [])
        self._backward_modules.clear()
        self._gradient_calls.clear()
        self._inputs_of.clear()
        self.nesting = Nesting()

    def leave_to_parent(self) -> None:
        """In the child of a fork: the files are the parent's."""
        self.is_child = True
        self._functions["close"]()

    def moved_to(self, folder: str) -> None:
        """The folder of the open step has a new name."""
        self._functions["moved_to"](folder)
        self.folder = folder

    # Failures

    def _check_writing(self) -> None:
        text = self._functions["take_error"]()
        if text:
            self._report(text)

    def _report(self, text: str) -> None:
        """Reports once what cannot be written, until a step is whole again."""
        self._is_whole = False
        if self._is_reported:
            return
        self._is_reported = True
        _errors.error(f"the dump is not complete: {text}")
        self._log(text, "")

    def could_not_open(self, problem: Exception) -> None:
        """No files for this step, though there were for others: the program goes on."""
        self._functions["close"]()
        self._report(str(problem))
        self._is_whole = True

    def failed(self, problem: BaseException) -> None:
        """An error of ours: one record per kind of exception and step."""
        if type(problem) in self._logged:
            return
        self._logged.add(type(problem))
        stack = "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))
        self._log(f"{type(problem).__name__}: {problem}", stack)
        _errors.warning(f"collecting a value failed ({problem}); see dump_error_info.log")

    def _log(self, text: str, stack: str) -> None:
        if self.folder is None:
            return
        stamp = time.strftime("%Y-%m-%d %H:%M:%S %z")
        calls = f"Call stack (most recent call last):\n{stack}\n" if stack else ""
        lines = f"[{stamp}] {text}\n{calls}"
        try:
            path = os.path.join(self.folder, "dump_error_info.log")
            with open(path, "a", encoding="utf-8", errors="replace", opener=going_on) as file:
                file.write(lines + "\n")
        except OSError:
            pass  # the disk that the dump cannot be written to either: reported on standard error

    # Hooks

    def _flags(self, name: str) -> int:
        if self._saves_all:
            return _SAVE
        found = [part for part in self.config.tensor_list if part in name]
        self.unsaved.difference_update(found)
        return _SAVE if found else 0

    def forward_inputs(self, name: str, args: tuple, kwargs: dict) -> None:
        """Inputs of an API or module that passed the static filters."""
        if self._filters and not self.scope.wants(name):
            return
        if self._watches:
            self._inputs_of[name] = (before_change(self.torch, name, args, kwargs), kwargs)
        elif self.forward_input:
            if self._difference is not None:
                self._difference.inputs(name, args, kwargs)
            self._inputs(name, args, kwargs, self._flags(name) | self._stack_flag)
        elif self._stack_flag:
            self._stack(name)

    def forward_outputs(
        self, name: str, output: Any, parameters: Optional[dict] = None, written: tuple = ()
    ) -> None:
        """Outputs, and for modules their own parameters. ``written``: what a call that gives
        nothing back has changed."""
        if self._place_flag:
            self._place(name)
        if self._filters and not self.scope.wants(name):
            return
        if not self.forward_output:
            self._functions["finish"](name)
            return
        flags = self._flags(name)
        if not isinstance(output, tuple):
            output = (output,)
        if self._watches:
            self._watch(name, output, written, parameters)
            return
        if self._difference is not None:
            flags = self._compare(name, output)
        if parameters is None:
            keep = _native_probe.KEEP_PARTS if name.startswith("Distributed.") else 0
            if self._marks_nan:
                is_bad = self._is_bad(written)  # forgets what the inputs had
                self._add(name, "output", "output", output, flags)
                self._mark_nan(name, is_bad, keep)
            else:
                self._add(name, "output", "output", output, flags | _FINISH | keep)
        else:
            self._add(name, "output", "output", output, flags)
            self._add(name, "parameters", "parameters", parameters, flags | _FINISH)

    def module_begins(self, name: str, args: tuple, kwargs: dict) -> None:
        """The forward of a module begins."""
        if self._is_general:
            self.begin_module(name)
            self.forward_inputs(name, args, kwargs)
        else:
            self._inputs(name, args, kwargs, self._module_inputs)

    def module_ends(self, name: str, output: Any, parameters: dict) -> None:
        """And ends; it may have begun before anything was recorded."""
        if self._is_general:
            self.forward_outputs(name, output, parameters)
            self.end_module(name)
        else:
            output = output if isinstance(output, tuple) else (output,)
            self._outputs(name, output, parameters, self._module_outputs)

    def _compare(self, name: str, output: tuple) -> int:
        """The task diff_check: tensors of a call that differs are saved, its inputs first."""
        inputs = self._difference.differs(name, output) if self._difference is not None else None
        if inputs is None:
            return 0
        self.overflows += 1
        self._inputs(name, *inputs, _SAVE)
        _errors.warning(f"{name} got the same inputs as in the other dump and gives other results")
        return _SAVE

    def finish(self, name: str) -> None:
        """No outputs will come: the call raised."""
        self._inputs_of.pop(name, None)
        self._functions["finish"](name)

    def backward(self, name: str, gradients_in: Any, gradients_out: Any) -> None:
        """Gradients of an API or module: with respect to its outputs, and to its inputs."""
        if self._place_flag:
            self._place(name)
        if self._filters and not self.scope.wants(name):
            return
        flags = self._flags(name)
        if self.finds_nan:
            self.found_nan(name, _as_tuple(gradients_in), None, gradients_out)
            return
        if self._watches:
            self._inputs_of[name] = (_as_tuple(gradients_in), None)
            is_kept = self.backward_output and self._watch(name, _as_tuple(gradients_out))
            if is_kept and self._filters and name.startswith("Module."):
                self._backward_modules.add(name.rsplit(".", 2)[0])
            return
        if self._marks_nan:
            if self.backward_input:
                self._add(name, "input", "input", _as_tuple(gradients_in), flags)
            if self.backward_output:
                self._functions["take_bad"]()
                self._add(name, "output", "output", _as_tuple(gradients_out), flags)
                self._mark_nan(name)
            return
        if self.backward_input and self.backward_output:
            self._gradients(name, _as_tuple(gradients_in), _as_tuple(gradients_out), flags)
        elif self.backward_input:
            self._add(name, "input", "input", _as_tuple(gradients_in), flags | _FINISH)
        elif self.backward_output:
            self._add(name, "output", "output", _as_tuple(gradients_out), flags | _FINISH)
        else:
            return
        if self._filters and name.startswith("Module."):
            self._backward_modules.add(name.rsplit(".", 2)[0])

    def _mark_nan(self, name: str, is_bad: bool = False, keep: int = 0) -> None:
        """Completes an entry of the task nan_check."""
        bad = 1 if self._functions["take_bad"]() or is_bad else 0
        self._add(name, "is_nan", "", Raw(bad), _FINISH | keep)

    def _is_bad(self, values: tuple) -> bool:
        """Whether there is NaN or infinity in values; what was found before is forgotten."""
        self._functions["take_bad"]()
        if not values:
            return False
        self._add(_LOOKED_AT, "", "", values, 0)
        self._functions["remove"](_LOOKED_AT)
        return self._functions["take_bad"]()

    def found_nan(self, name: str, args: tuple, kwargs: Optional[dict], results: Any) -> None:
        """The task nan_watch: a call with NaN in its results; without ``kwargs`` a backward."""
        limit = self.config.overflow_nums
        if not self.running or (limit != -1 and self.overflows >= limit):
            return
        if self._filters and not self.scope.wants(name):
            return
        self.overflows += 1
        if self.overflows == limit:
            self._stop_apis()
        if self.folder is None:
            self.open(*self._waiting)
        if kwargs is None:
            self._add(name, "input", "input", args, _SAVE)
        else:
            self._inputs(name, args, kwargs, _SAVE | self._stack_flag)
        self._add(name, "output", "output", _as_tuple(results), _SAVE | _FINISH)
        self.flush()
        values = inputs_by_name(args, kwargs or {})
        _errors.warning(self.finds.add(self.folder or "", name, values, self.model))

    def _watch(
        self, name: str, results: tuple, written: tuple = (), parameters: Optional[dict] = None
    ) -> bool:
        """The task overflow_check keeps only calls whose results have NaN or infinity."""
        args, kwargs = self._inputs_of.pop(name, ((), {}))
        if not self._is_counted(name, (*results, *written)):
            return False
        if kwargs is None:
            self._add(name, "input", "input", args, _SAVE)
        else:
            self._inputs(name, args, kwargs, _SAVE | self._stack_flag)
        self._add(name, "output", "output", results, _SAVE)
        if parameters is not None:
            self._add(name, "parameters", "parameters", parameters, _SAVE)
        self._functions["finish"](name)
        return True

    def _is_counted(self, name: str, results: tuple) -> bool:
        """Whether results are bad, and not one too many."""
        limit = self.config.overflow_nums
        if (limit != -1 and self.overflows >= limit) or not self._is_bad(results):
            return False
        self.overflows += 1
        _errors.warning(f"{name} has NaN or infinity in its results")
        return True

    def gradient(self, module: str, parameter: str, value: Any, expected: int) -> None:
        """A parameter's gradient, accumulated so far. ``expected``: parameters of the module."""
        call = self._gradient_calls.setdefault(module, [0, parameter, 0])
        if call[1] == parameter and call[2]:
            call[0] += 1
            call[2] = 0
        call[2] += 1
        name = f"{module}.parameters_grad.{call[0]}"
        if (
            self.scope.filters
            and not self.scope.wants(module)
            and module not in self._backward_modules
        ):
            self._functions["remove"](name)
            return
        flags = self._flags(name) | _native_probe.IN_LIST | _native_probe.KEEP_PARTS
        if self._watches:
            if not self._is_counted(name, (value,)):
                return
            flags |= _SAVE
        if call[2] >= expected or self._watches:
            flags |= _FINISH
        self._add(name, parameter, parameter, value, flags)

    # Construct

    def begin_module(self, name: str) -> None:
        """A module's forward or backward begins: children refer to it."""
        if self._place_flag:
            self._begin_module(name)
        if self._filters:
            self.scope.begin_module(name)

    def end_module(self, name: str) -> None:
        """And ends."""
        if self._place_flag:
            self._end_module(name)
        if self._filters:
            self.scope.end_module(name)

    def set_status(self, status: str) -> None:
        """Who calls functions from now on: "optimizer", "clip_grad" or the program ("")."""
        self._functions["status"](status)

    def weights(self, folder: str, model: Any) -> None:
        """The parameters of all modules of a model, as a dump of its own."""
        self.open(folder, [])
        for name, module in model.named_modules():
            own = {key: value for key, value in module._parameters.items() if value is not None}
            if own:
                entry = f"Module.{name}.{type(module).__name__}.forward.0"
                flags = self._flags(entry) | _FINISH
                self._add(entry, "parameters", "parameters", own, flags)
        self.end_step()

    # Single values

    def value(self, name: str, value: Any) -> None:
        """The whole entry ``name`` of debug.json."""
        flags = _native_probe.WHOLE | _FINISH
        if self.config.task == "tensor":
            flags |= _SAVE
        self._add(name, "", "", value, flags)


def _as_tuple(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)
