"""``PrecisionDebugger`` for MindSpore: starts and stops the recording of what flows through."""

import atexit
import os
import threading
from typing import Any, Optional

from sonde.mindspore.precision._apis import Apis
from sonde.mindspore.precision._cell_calls import CellCalls
from sonde.mindspore.precision._collector import Collector
from sonde.mindspore.precision._compiled import CompiledCalls
from sonde.mindspore.precision._files import StepFiles
from sonde.mindspore.precision._save import Saver
from sonde.torch.precision import _config, _errors
from sonde.torch.precision._errors import ProbeError

_LEVELS = ("L0", "L1", "mix", "debug")
_TASKS = ("statistics", "tensor", "structure")


class PrecisionDebugger(_errors.Loud):
    """Records what flows through cells and functions of MindSpore.

    One per process: a second construction gives the first object and ignores its arguments.
    """

    _instance: "Optional[PrecisionDebugger]" = None
    _lock = threading.RLock()

    def __new__(cls, *args: Any, **kwargs: Any) -> "PrecisionDebugger":
        with cls._lock:
            if cls._instance is None:
                instance = super().__new__(cls)
                instance._set_up(*args, **kwargs)
                cls._instance = instance
            return cls._instance

    def __init__(
        self,
        config_path: Optional[str] = None,
        task: Optional[str] = None,
        dump_path: Optional[str] = None,
        level: Optional[str] = None,
        step: Optional[list] = None,
    ) -> None:
        """Arguments win over the file; without a file, over the defaults."""

    def _set_up(
        self,
        config_path: Any = None,
        task: Any = None,
        dump_path: Any = None,
        level: Any = None,
        step: Any = None,
    ) -> None:
        import mindspore

        if config_path is not None and not isinstance(config_path, str):
            raise _errors.refuse("config_path must be a string")
        default = "./dump_path" if not config_path and dump_path is None else dump_path
        self.config = _config.read(config_path, task, default, level, step)
        _check(self.config)
        self.config.risk_level = "ALL"  # levels of risk are torch's
        self._mindspore = mindspore
        self.collector = Collector(mindspore, self.config)
        self._apis = Apis(self.collector)
        self._cells = CellCalls(mindspore, self.collector, self.config.level)
        self._compiled = CompiledCalls(self.collector, self._take_away, self._put_in_place)
        self._model: Any = None
        self._saver = Saver(mindspore, self.config, self._folder)
        self.loop = 0
        self.init_step = 0
        self._rank: Optional[int] = None
        atexit.register(self._write)

    @classmethod
    def _get(cls) -> "PrecisionDebugger":
        if cls._instance is None:
            raise Exception("PrecisionDebugger instance is not created.")
        return cls._instance

    @property
    def step_number(self) -> int:
        """Number of the step that is running."""
        return self.loop + self.init_step

    @classmethod
    def start(cls, model: Any = None, token_range: Any = None, rank_id: Any = None) -> None:
        """Begins to record, on all threads, until ``stop()``. ``model``: a cell or a list of them,
        needed at the levels L0 and mix; ``rank_id``: number of the folder. Raises
        ``MsprobeException`` where the model is missing or none."""
        with cls._lock:
            cls._get()._start(model, token_range, rank_id)

    @classmethod
    def stop(cls) -> None:
        """Pauses recording and writes the files; a ``start()`` of the same step goes on in them."""
        with cls._lock:
            cls._get()._stop()

    @classmethod
    def step(cls) -> None:
        """Ends a step: what follows gets a folder of its own and counts from 0."""
        with cls._lock:
            self = cls._get()
            self._write()
            self.loop += 1
            self.collector.files = None
            self.collector.begin_step()
            self._saver.end_step()

    @classmethod
    def save(cls, variable: Any, name: str, save_backward: bool = True) -> None:
        """Records one value, and its gradient, at level ``debug``."""
        with cls._lock:
            cls._get()._saver.save(variable, name, save_backward)

    @classmethod
    def set_init_step(cls, step: int) -> None:
        """Number of the first step."""
        if isinstance(step, bool) or not isinstance(step, int):
            raise _errors.refuse(f"{step} must be an integer")
        if step < 0:
            raise _errors.refuse(f"{step} must be greater than or equal to 0")
        with cls._lock:
            self = cls._get()
            self.init_step, self.loop = step, 0

    @classmethod
    def register_custom_api(cls, module: Any, api: str, api_prefix: Optional[str] = None) -> None:
        """Records one more function; entries begin with ``api_prefix`` or the module's name."""
        if not hasattr(module, api):
            raise _errors.refuse(f"module {module} does not have {api}")
        prefix = api_prefix or getattr(module, "__name__", None) or "Custom"
        with cls._lock:
            cls._get()._apis.add_custom(module, api, prefix)

    @classmethod
    def restore_custom_api(cls, module: Any, api: str) -> None:
        """Ends that."""
        with cls._lock:
            cls._get()._apis.remove_custom(module, api)

    # The work

    def _start(self, model: Any, token_range: Any, rank_id: Any) -> None:
        if token_range is not None:
            _errors.warning("token_range has no effect on MindSpore programs")
        _config.check_rank(rank_id)
        _check_model(self._mindspore, self.config, model)
        if self.config.level == "debug" or self.collector.running:
            return
        if self.config.step and self.step_number not in self.config.step:
            return
        self._rank = _rank() if rank_id is None else rank_id
        if self.config.rank and self._rank not in self.config.rank:
            return
        self._warn_of_graphs()
        if model is not None:
            self._cells.add_model(model)
        if self.collector.files is None:
            self.collector.files = self._make_files()
        self._model = model
        self._put_in_place()
        self._compiled.install()
        self.collector.running = True

    def _put_in_place(self) -> None:
        if self.config.level in ("L1", "mix"):
            self._apis.install()
        self._cells.install(self._model)

    def _take_away(self) -> None:
        self._cells.remove()
        self._apis.remove()

    def _stop(self) -> None:
        if not self.collector.running:
            return
        self.collector.running = False
        self._compiled.remove()
        self._take_away()
        self._write()

    def _write(self) -> None:
        if self.collector.files is not None:
            self.collector.files.write()

    def _folder(self) -> str:
        who = f"proc{os.getpid()}" if self._rank is None else f"rank{self._rank}"
        return os.path.join(str(self.config.dump_path), f"step{self.step_number}", who)

    def _make_files(self) -> StepFiles:
        folder = self._folder()
        head = {"task": self.config.task, "level": self.config.level, "framework": "mindspore"}
        _errors.info(f"Dump switch is turned on at step {self.step_number}. ")
        _errors.info(f"Dump data will be saved in {os.path.abspath(folder)}.")
        return StepFiles(folder, head, self.config.saves_tensors)

    def _warn_of_graphs(self) -> None:
        context = self._mindspore.context
        if context.get_context("mode") == context.GRAPH_MODE:
            _errors.warning(
                "GRAPH mode calls no cell and no function: `sonde run --dump-config` has MindSpore "
                "dump its kernels (docs/mindspore.md)"
            )


class MsprobeStep:
    """A callback of ``Model.train``: each step of it is a step of the dump."""

    def __new__(cls, debugger: PrecisionDebugger) -> Any:
        from mindspore.train import Callback

        class Steps(Callback):  # type: ignore[misc]
            def on_train_step_begin(self, run_context: Any) -> None:
                debugger.start(run_context.original_args().network)

            def on_train_step_end(self, run_context: Any) -> None:
                debugger.stop()
                debugger.step()

        return Steps()


def _check(config: "_config.Config") -> None:
    if config.level not in _LEVELS:
        raise _errors.refuse(
            f"level {config.level} of MindSpore is its own dump: use `sonde run --dump-config`"
        )
    if config.task not in _TASKS:
        raise Exception("task is invalid.")
    if not config.dump_path:
        raise Exception("Dump path is empty.")


def _check_model(mindspore: Any, config: "_config.Config", model: Any) -> None:
    if model is None:
        if config.level in ("L0", "mix"):
            _errors.error(
                f"For level {config.level}, PrecisionDebugger or start interface must receive a "
                "'model' parameter."
            )
            raise ProbeError(ProbeError.INVALID_PARAM, "missing the parameter 'model'")
        return
    for one in model if isinstance(model, (list, tuple)) else [model]:
        if not isinstance(one, mindspore.nn.Cell):
            raise _errors.refuse(
                "The 'model' parameter must be a mindspore.nn.Cell or list[mindspore.nn.Cell] "
                f"type, currently there is an unsupported {type(one)} type."
            )


def _rank() -> Optional[int]:
    """Of the process where communication is initialized."""
    try:
        from mindspore import communication

        return int(communication.get_rank()) if communication.GlobalComm.INITED else None
    except (ImportError, AttributeError, RuntimeError):
        return None
