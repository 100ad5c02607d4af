"""``PrecisionDebugger``: starts and stops the recording of what flows through a program."""

import threading
from typing import Any, Optional

from sonde.torch.precision import _config, _errors
from sonde.torch.precision._errors import ProbeError
from sonde.torch.precision._reload import Reload
from sonde.torch.precision._service import WITH_APIS, WITH_MODULES, Service


class PrecisionDebugger:
    """Records what flows through modules and functions of torch.

    One per process: a second construction gives the first object and ignores its arguments.
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
        if config_path is not None and not isinstance(config_path, str):
            raise _errors.refuse("config_path must be a string")
        default = dump_path
        if not config_path and dump_path is None:
            default = "./dump_path"
        config = _config.read(config_path, task, default, level, step)
        reload = None
        if config_path and config.dump_enable is not None:
            reload = Reload(config_path, (task, dump_path, level, step))
        type(self)._service = Service(config, reload)

    @classmethod
    def _get(cls) -> Service:
        if cls._instance is None or cls._service is None:
            raise Exception("PrecisionDebugger instance is not created.")
        return cls._service

    @classmethod
    def start(
        cls,
        model: Any = None,
        token_range: Any = None,
        rank_id: Optional[int] = None,
        scheduled_tokens: Optional[dict] = None,
    ) -> None:
        """Begins to record; ``model`` is needed at the levels L0 and mix."""
        with cls._lock:
            cls._get().start(model, token_range, rank_id, scheduled_tokens)

    @classmethod
    def stop(cls) -> None:
        """Pauses recording and completes the files."""
        with cls._lock:
            cls._get().stop()

    @classmethod
    def step(cls) -> None:
        """Ends a step: what follows gets a folder of its own and counts from 0."""
        with cls._lock:
            cls._get().step()

    @classmethod
    def rest(cls) -> None:
        """Takes hooks and wrappers away until the next ``start()``: nothing is slowed down."""
        with cls._lock:
            cls._get().rest()

    @classmethod
    def save(cls, variable: Any, name: str, save_backward: bool = True) -> None:
        """Records one value, and its gradient, at level ``debug``."""
        with cls._lock:
            cls._get().saver.save(variable, name, save_backward)

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
