"""``PrecisionDebugger``: starts and stops the recording of what flows through a program."""

import threading
from typing import Any, Optional

from sonde.torch.precision import _config, _errors
from sonde.torch.precision._errors import ProbeError
from sonde.torch.precision._function_modes import run
from sonde.torch.precision._reload import Reload
from sonde.torch.precision._service import WITH_APIS, WITH_MODULES, Service


class PrecisionDebugger(_errors.Loud):
    """Records what flows through modules and functions of torch.

    One per process: a second construction gives the first object and ignores its arguments.
    ``start()``, ``stop()`` and ``step()`` may be called from any thread, one at a time; calls of
    the model may run on many. What is recorded, how and where to stands in the configuration
    (docs/probe.md).

    ``service`` and ``config`` are what frameworks hold the debugger by: ``config.dump_path`` may be
    set between ``stop()`` and ``start()``, ``service.reset_status()`` ends a dump without counting
    a step.
    """

    _instance: "Optional[PrecisionDebugger]" = None
    _lock = threading.RLock()
    _service: Optional[Service] = None

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
        *,
        model: Any = None,
    ) -> None:
        """Arguments win over the file; without a file, over the defaults. ``model``: for each
        ``start()`` that gets none, as in releases before 26."""

    def _set_up(
        self,
        config_path: Any = None,
        task: Any = None,
        dump_path: Any = None,
        level: Any = None,
        step: Any = None,
        model: Any = None,
        **others: Any,
    ) -> None:
        for name in others:
            raise TypeError(f"PrecisionDebugger() takes no argument {name!r}")
        if config_path is not None and not isinstance(config_path, str):
            raise _errors.refuse("config_path must be a string")
        default = dump_path
        if not config_path and dump_path is None:
            default = "./dump_path"
        config = _config.read(config_path, task, default, level, step)
        reload = None
        if config_path and config.dump_enable is not None:
            reload = Reload(config_path, (task, dump_path, level, step))
        type(self)._service = Service(config, reload, model)

    @classmethod
    def _get(cls) -> Service:
        if cls._instance is None or cls._service is None:
            raise Exception("PrecisionDebugger instance is not created.")
        return cls._service

    @property
    def service(self) -> Service:
        """The state behind: ``config``, ``loop``, ``init_step``, ``current_iter``."""
        return self._get()

    @property
    def config(self) -> _config.Config:
        """What is recorded, and where to (``dump_path``)."""
        return self._get().config

    @classmethod
    def start(
        cls,
        model: Any = None,
        token_range: Any = None,
        rank_id: Optional[int] = None,
        scheduled_tokens: Optional[dict] = None,
    ) -> None:
        """Begins to record, on all threads, until ``stop()``.

        ``model``: a module or a list of them, needed at the levels L0 and mix; hooks see every call
        of its modules, whatever the shapes of its tensors. ``token_range``: (first, last) calls of
        the model, counted from 0, both included. ``rank_id``: number of the folder, torch's rank
        without. ``scheduled_tokens``: request id to number of tokens, in the order of the batch's
        first dimension.

        Raises ``MsprobeException`` where the model is missing or none, ``FileCheckException`` where
        the first folder cannot be made. Later failures cost a line, never the program.
        """
        with cls._lock:
            service = cls._get()
            run(service.torch, service.start, model, token_range, rank_id, scheduled_tokens)

    @classmethod
    def stop(cls) -> None:
        """Pauses recording and completes the files.

        Gradients of calls that were recorded are still written when they arrive before ``step()``.
        A ``start()`` of the same step goes on in the same files. Without ``start()`` it does
        nothing. What the probe put around optimizers and gradient clipping is taken away.
        """
        with cls._lock:
            service = cls._get()
            run(service.torch, service.stop)

    @classmethod
    def step(cls) -> None:
        """Ends a step: what follows gets a folder of its own and counts from 0.

        Counts also where the step was not recorded. After the last step of the configuration
        nothing is recorded any more, and nothing of the probe is left in the program's way.
        """
        with cls._lock:
            service = cls._get()
            run(service.torch, service.step)

    @classmethod
    def rest(cls) -> None:
        """Takes hooks and wrappers away until the next ``start()``: nothing is slowed down."""
        with cls._lock:
            cls._get().rest()

    @classmethod
    def save(cls, variable: Any, name: str, save_backward: bool = True) -> None:
        """Records one value, and its gradient, at level ``debug``."""
        with cls._lock:
            service = cls._get()
            run(service.torch, service.saver.save, variable, name, save_backward)

    @classmethod
    def set_init_step(cls, step: int) -> None:
        """Number of the first step."""
        with cls._lock:
            service = cls._get()
            if isinstance(step, bool) or not isinstance(step, int):
                raise _errors.refuse(f"{step} must be an integer")
            if step < 0:
                raise _errors.refuse(f"{step} must be greater than or equal to 0")
            service.init_step = step
            service.loop = 0

    @classmethod
    def register_custom_api(cls, module: Any, api: str, api_prefix: Optional[str] = None) -> None:
        """Records one more function; entries begin with ``api_prefix`` or the module's name."""
        with cls._lock:
            service = cls._get()
            if not hasattr(module, api):
                raise _errors.refuse(f"module {module} does not have {api}")
            if api_prefix is not None and not isinstance(api_prefix, str):
                raise _errors.refuse("api_prefix must be string")
            prefix = api_prefix or getattr(module, "__name__", None) or "Custom"
            service.apis.add_custom(module, api, prefix)
            if service.collector.running:
                service.switch(True)
            service.apis.use(service.collector)
            _errors.info(f"Custom api registered: {getattr(module, '__name__', module)}.{api}")

    @classmethod
    def restore_custom_api(cls, module: Any, api: str) -> None:
        """Ends that."""
        with cls._lock:
            if cls._get().apis.remove_custom(module, api):
                _errors.info(f"Custom api restored: {getattr(module, '__name__', module)}.{api}")


def module_dump(module: Any, dump_name: str) -> None:
    """Records one module alone, under a name of its own, until ``module_dump_end()``."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise _errors.refuse(
            "the module argument in module_dump must be a torch.nn.Module type, "
            f"but currently there is an unsupported {type(module)} type."
        )
    if not isinstance(dump_name, str):
        raise _errors.refuse("the dump_name argument in module_dump must be a str type")
    service = _service_or_refuse()
    if service.config.level in WITH_MODULES:
        _errors.info(
            "The init dump is enabled, and the module dump function will not be available."
        )
        return
    service.apis.switch(False)
    service.modules.on = service.collector.running
    handles = service.modules.hook(module, f"Module.{dump_name}.{type(module).__name__}")
    _dumped_modules.append(handles)


def module_dump_end() -> None:
    """Ends that."""
    service = _service_or_refuse()
    if service.config.level in WITH_MODULES:
        return
    while _dumped_modules:
        for handle in _dumped_modules.pop():
            handle.remove()
    service.modules.on = False
    service.apis.switch(service.collector.running and service.config.level in WITH_APIS)


_dumped_modules: list = []


def _service_or_refuse() -> Service:
    service = PrecisionDebugger._service
    if service is None:
        raise ProbeError(
            ProbeError.WRONG_USE,
            "PrecisionDebugger must be instantiated before using module_dump interfaces",
        )
    return service
