"""The work behind ``PrecisionDebugger``: which step, rank and part is recorded, and where to.

One object a process, made by the debugger; its lock is held during every call.
"""

import atexit
import os
from typing import Any, Optional

from sonde.torch.precision import (
    _compiler,
    _config,
    _errors,
    _graph_backend,
    _graph_complete,
    _graph_report,
    _unmatched,
)
from sonde.torch.precision._apis import Apis
from sonde.torch.precision._collector import Collector
from sonde.torch.precision._errors import ProbeError
from sonde.torch.precision._load import Loader
from sonde.torch.precision._modules import Modules
from sonde.torch.precision._reload import Reload
from sonde.torch.precision._save import Saver
from sonde.torch.precision._surroundings import Surroundings

WITH_APIS = ("L1", "mix")
WITH_MODULES = ("L0", "mix")
_BANNER = "msprobe ends successfully."


def _torch() -> Any:
    import torch

    return torch


class Service(_errors.Loud):
    """The state behind the one debugger of the process."""

    def __init__(
        self, config: _config.Config, reload: Optional[Reload] = None, model: Any = None
    ) -> None:
        """``model``: for each ``start()`` that gets none."""
        self.torch = _torch()
        self.config = config
        self._model = model
        self._reload = reload
        self.loop = 0
        self.init_step = 0
        self.rank: Optional[int] = None
        self.apis = Apis(self.torch)
        self.modules = Modules(self.torch)
        self.collector = Collector(self.torch, config, self.apis.functions)
        self.saver = Saver(self)
        self.loader = Loader(self.torch, config.load) if config.load is not None else None
        self._ended = False
        self.has_begun = False  # start() was called, or save() at the level debug
        self.is_driven = False  # by `sonde run`, which itself reports that nothing was called
        self._is_resting = False  # nothing of us is in the way, and no step is open
        self._first = True
        self.first_start = True  # what programs set for each new model; start() ends it
        self._has_opened = False  # files of a step, once
        self.recorded: dict[int, str] = {}  # steps with files, and the folder of each
        self.watched: set[int] = (
            set()
        )  # steps of nan_watch, which has files where it finds something
        self._knows_rank = False  # whether a process has a rank that is to be recorded
        self._token = 0
        self._token_range: Optional[tuple[int, int]] = None
        self._surroundings = Surroundings(self.torch, lambda name: self.collector.set_status(name))
        self._compiler_is_watched = False
        self.apis.use(self.collector)
        self.modules.collector = self.collector
        if config.graph is not None:
            self._watch_graphs(config)
        elif not _config.without_graph(config) and _graph_complete.is_known(self.torch):
            # Nothing may be compiled: the compiler is not imported for it.
            self.modules.has_inductors = True
            _graph_complete.watch(config).service = self
        if config.level in WITH_APIS:
            self.apis.install()
            self.apis.add_listed_customs()
            self.apis.add_operators(config.custom_op_namespaces)
            self.apis.use(self.collector)  # of those, too, only the wanted
            self.apis.switch(False)
        atexit.register(self._at_exit)
        os.register_at_fork(after_in_child=self._in_child)

    def _watch_graphs(self, config: _config.Config) -> None:
        self.modules.has_graphs = True
        watching = _graph_complete.watch(config)
        watching.service = self
        if config.needs_tensors and config.graph == "complete":
            _errors.warning(
                "whole tensors of compiled code have to be in memory, where they are rounded: "
                "results in 16 bits may differ from those of the same program without a dump"
            )
        if config.graph_backend:
            _graph_backend.check(config.graph_backend)
            watching.backend = config.graph_backend
            _graph_report.write_at_exit(config.dump_path or "", lambda: watching.traced)

    @property
    def step_number(self) -> int:
        """Number of the step that is running."""
        return self.loop + self.init_step

    @property
    def current_iter(self) -> int:
        """The same, by the name that frameworks know."""
        return self.step_number

    @property
    def graphs(self) -> int:
        """Compiled graphs that say what their modules computed."""
        return _graph_complete.watch().graphs

    @property
    def rests(self) -> bool:
        """Whether nothing is hooked: each model needs another ``start()``."""
        return self._is_resting

    def reset_status(self) -> None:
        """Completes the dump and counts its calls from 0, without counting a step: frameworks that
        give every stage a folder of its own (``config.dump_path``) do it between them."""
        self._find_rank()
        self.collector.end_step()
        self.saver.end_step()
        self.apis.reset()
        self.modules.reset()

    _reset_status = reset_status  # its name in other releases

    # start, stop, step

    def start(self, model: Any, token_range: Any, rank_id: Any, scheduled_tokens: Any) -> None:
        self._look_at_file()
        self.has_begun = True
        config = self.config
        model = self._model if model is None else model
        _check_token_range(token_range)
        _config.check_rank(rank_id)
        self._check_model(model, token_range)
        if config.dump_enable is False:
            self.rest()
            return
        if config.level == "debug":
            return
        if self._has_ended():
            self.rest()
            return
        if self._first:
            self.rank = rank_id if rank_id is not None else self.framework_rank()
        is_wanted = not config.rank or self.rank in config.rank
        self.collector.model = model
        slices = self._slices(scheduled_tokens) if is_wanted else None
        if slices is not None or self.loader is not None:
            self._wake(model)
        if self.loader is not None and self._begin_loading(rank_id):
            return
        if not is_wanted:
            self._warn_of_rank()
            if self.loader is None:
                self.rest()
                return
        if slices is None:
            self.switch(False)
            self.modules.pause()
            return
        if self._first:
            self._first_start(model, token_range)
        self.first_start = False
        if not self.open(slices):
            self.switch(False)
            return
        self._token = 0
        if config.level == "mix":
            self._surroundings.hook()
        self.switch(True)
        if token_range is None:
            _errors.info(f"Dump switch is turned on at step {self.step_number}. ")
        if not self.collector.finds_nan:
            _errors.info(f"Dump data will be saved in {self.step_folder()}.")

    def _warn_of_rank(self) -> None:
        """Once, where no process has a rank that is to be recorded."""
        if self._knows_rank:
            return
        dist = self.torch.distributed
        is_parallel = dist.is_available() and dist.is_initialized()
        size = dist.get_world_size() if is_parallel else 1
        is_given = self.rank != self.framework_rank()  # a rank of another numbering
        self._knows_rank = is_given or is_parallel
        if is_given or (self.rank is not None and min(self.config.rank) < size):
            return
        self._knows_rank = True
        _errors.warning(
            f"rank {self.config.rank} is to be recorded, but there is none: "
            + (
                f"ranks of this group are below {size}"
                if is_parallel
                else "this program has no ranks"
            )
        )

    def _check_model(self, model: Any, token_range: Any) -> None:
        module_type = self.torch.nn.Module
        level = self.config.level
        if model is None:
            if level in WITH_MODULES or token_range is not None or self.loader is not None:
                _errors.error(
                    f"For level {level} or non-empty token_range, PrecisionDebugger or start "
                    "interface must receive a 'model' parameter."
                )
                text = "missing the parameter 'model'"
                if token_range is not None and level not in WITH_MODULES:
                    text = "The 'model' parameter must be provided when token_range is not None"
                raise ProbeError(ProbeError.INVALID_PARAM, text)
            return
        models = model if isinstance(model, (list, tuple)) else [model]
        for item in models:
            if not isinstance(item, module_type) or isinstance(item, self.torch.jit.ScriptModule):
                raise _errors.refuse(
                    "The 'model' parameter must be a torch.nn.Module or list[torch.nn.Module] "
                    f"type, currently there is an unsupported {type(item)} type."
                )

    @property
    def has_enough(self) -> bool:
        """Whether as many calls were found as the task looks for."""
        limit = self.config.overflow_nums if self.config.task in _config.MORE_TASKS else -1
        if self.config.task == "diff_check":
            limit = self.config.diff_nums
        return limit != -1 and self.collector.overflows >= limit

    def _has_ended(self) -> bool:
        steps = self.config.step
        if self._ended:
            return True
        if self.has_enough or (steps and self.step_number > max(steps)):
            self.switch(False)
            self._ended = True
            line = "*" * (len(_BANNER) + 8)
            _errors.info(f"\n{line}\n*   {_BANNER}   *\n{line}")
            return True
        return bool(steps) and self.step_number not in steps

    def _slices(self, scheduled_tokens: Any) -> Optional[list]:
        """Parts of tensors to record now; None: nothing of this step."""
        slices = self.config.slices
        request = self.config.request_id
        if not request or scheduled_tokens is None:
            return slices
        if not isinstance(scheduled_tokens, dict) or not all(
            isinstance(key, str) and type(count) is int and count > 0
            for key, count in scheduled_tokens.items()
        ):
            _errors.warning("scheduled_tokens must map request ids to numbers > 0; it is ignored")
            return slices
        if request not in scheduled_tokens:
            _errors.warning(
                f"{request} not found in scheduled_tokens, "
                f"step {self.step_number} will not be dumped"
            )
            return None
        before = 0
        for key, count in scheduled_tokens.items():
            if key == request:
                total = sum(scheduled_tokens.values())
                return [*slices, {"dim": 0, "size": total, "begin": before, "end": before + count}]
            before += count
        return slices

    def _first_start(self, model: Any, token_range: Any) -> None:
        self._first = False
        if token_range is not None:
            root = model
            if isinstance(model, (list, tuple)):
                _errors.warning(
                    "Infer model can only input one to support token_range, choose the first one."
                )
                root = model[0]
            self._token_range = (token_range[0], token_range[1])
            root.register_forward_pre_hook(self._next_token)

    def _next_token(self, _module: Any, _args: Any) -> None:
        first, last = self._token_range or (0, 0)
        if self._ended or not self.collector.is_open:
            return
        self.switch(first <= self._token <= last)
        self._token += 1

    def stop(self) -> None:
        if self._is_resting:
            return
        config = self.config
        if config.dump_enable is False:
            self.rest()
            return
        if config.level == "debug" or self._ended:
            return
        self.switch(False)
        self._surroundings.unhook()
        if self.loader is not None:
            self.loader.end()
            self.modules.loader = None
        self.modules.pause()
        self._find_rank()
        self.collector.flush()
        self._look_at_file()

    def step(self) -> None:
        if self._ended:
            return
        self.loop += 1
        if self._is_resting:
            self._look_at_file()
            return
        if self.modules.has_graphs or self.modules.has_inductors:
            _graph_complete.watch().report()
        self._find_rank()
        self.collector.end_step()
        self.saver.end_step()
        self.apis.reset()
        self.modules.reset()
        self._look_at_file()
        if self.config.step and self.step_number not in self.config.step:
            self.rest()
        else:
            self.modules.pause()  # after a stop() in the middle of a call

    def _begin_loading(self, rank_id: Optional[int]) -> bool:
        """Inputs come from another dump in this step; whether nothing is recorded."""
        rank = rank_id if rank_id is not None else self.framework_rank()
        active = self.loader.begin(self.step_number, rank, self.modules.prefixes)
        self.modules.loader = self.loader if active else None
        if self.loader.loads_only:
            _errors.info("Load-only mode: module input override active, dump disabled.")
        return self.loader.loads_only

    def _look_at_file(self) -> None:
        """Between two steps a changed configuration takes the place of the old one."""
        if self._reload is None or self.collector.folder is not None:
            return
        config = self._reload.changed(self.config)
        if config is None:
            return
        self.rest()
        self._ended = False
        self.config = config
        self.collector = Collector(self.torch, config, self.apis.functions)
        self.modules.collector = self.collector
        self.loader = Loader(self.torch, config.load) if config.load is not None else None
        self.apis.use(self.collector)
        _errors.info("The changed configuration is used from now on.")

    def skip_step(self) -> None:
        """A step of the program that is not recorded."""
        self.rest()
        self.loop += 1

    def _wake(self, model: Any) -> None:
        """Hooks and wrappers are in place."""
        self._is_resting = False
        if not self._compiler_is_watched:
            self._compiler_is_watched = _compiler.watch(self.apis, self.modules)
        if self.config.level in WITH_APIS:
            if not self.apis.installed:
                self.apis.install()
            if self._first:  # of libraries that were loaded since
                self.apis.add_operators(self.config.custom_op_namespaces)
                self.apis.use(self.collector)
            self.apis.add_kernels()  # a model may load them in its first call
        if self.config.level in WITH_MODULES or self.loader is not None:
            self.modules.attach(model)

    def rest(self) -> None:
        """Nothing of us is left in the way of a program until a step is to be recorded."""
        if self._is_resting:
            return
        self.switch(False)
        self._surroundings.unhook()
        self._is_resting = not self.collector.is_open
        if self.apis.installed:
            self.apis.remove()
        self.modules.sleep()

    def switch(self, on: bool) -> None:
        """Turns the hooks on or off."""
        self.collector.running = on
        if on:
            self.modules.resume()
        self.apis.switch(on, with_listed=self.config.level in WITH_APIS)
        self.modules.on = on and self.config.level in WITH_MODULES

    # Folders

    def step_folder(self) -> str:
        """Where the files of all ranks of this step lie."""
        return os.path.join(self.config.dump_path or "", f"step{self.step_number}")

    def open(self, slices: list) -> bool:
        """Makes the folder and files of this step. False: not possible any more; the first time
        it raises ``PathError``."""
        self._is_resting = False
        folder = os.path.join(self.step_folder(), self._rank_folder())
        if self.collector.folder not in (None, folder):
            self.reset_status()  # the program has chosen another dump_path
        if self.collector.finds_nan:
            self.collector.expect(folder, slices)
            self.watched.add(self.step_number)
            return True
        try:
            self.collector.open(folder, slices)
        except RuntimeError as problem:
            if self._has_opened:
                self.collector.could_not_open(problem)
                return False
            raise _errors.PathError(_errors.PathError.ILLEGAL_PATH, str(problem)) from None
        self._has_opened = True
        self.recorded.setdefault(self.step_number, folder)
        return True

    def _rank_folder(self) -> str:
        return f"proc{os.getpid()}" if self.rank is None else f"rank{self.rank}"

    def dump_weights(self, model: Any, rank_id: Optional[int]) -> None:
        """Parameters as they are now, in ``weights`` beside the steps: a library may pack them."""
        self.rank = rank_id if rank_id is not None else self.framework_rank()
        folder = os.path.join(self.config.dump_path or "", "weights", self._rank_folder())
        self.collector.weights(folder, model)
        _errors.info(f"The weights are saved in {folder}.")

    def framework_rank(self) -> Optional[int]:
        """Rank of this process in torch.distributed, None without."""
        dist = self.torch.distributed
        return dist.get_rank() if dist.is_available() and dist.is_initialized() else None

    def _find_rank(self) -> None:
        """Renames the folder of a process whose rank has become known."""
        folder = self.collector.folder
        if self.rank is not None or folder is None:
            return
        self.rank = self.framework_rank()
        if self.rank is None:
            return
        target = os.path.join(os.path.dirname(folder), f"rank{self.rank}")
        try:
            os.rename(folder, target)
        except OSError as problem:
            _errors.warning(f"{folder} cannot be renamed: {problem}")
            return
        self.collector.moved_to(target)
        for step, place in self.recorded.items():
            self.recorded[step] = target if place == folder else place
        _errors.info(f"Successfully replaced proc path<{folder}> with rank path<{target}>")

    # Ends

    def _at_exit(self) -> None:
        try:
            self.switch(False)
            if not self.collector.is_child:
                self.collector.flush()
                _unmatched.report(self)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            _errors.error(f"the dump could not be completed: {problem}")

    def _in_child(self) -> None:
        self.collector.leave_to_parent()
        self.switch(False)
        self.config.dump_enable = False


def _check_token_range(token_range: Any) -> None:
    if token_range is None:
        return
    if not isinstance(token_range, (list, tuple)):
        raise _errors.refuse("Token_range must be a list or tuple.")
    if len(token_range) != 2:
        raise _errors.refuse("Token_range must contains exactly 2 elements.")
    start, end = token_range
    if type(start) is not int or type(end) is not int:
        raise _errors.refuse("Start and end in token_range must be integer.")
    if start > end:
        raise _errors.refuse("Start in token_range must less than the end.")
    if start < 0:
        raise _errors.refuse("Start in token_range must >= 0.")
