"""Ray and Dask: a task a part, tried again on another worker where its own is lost."""

import importlib
from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

_RETRIES = 5
Function = Callable[..., Any]
Tasks = list[tuple[Any, ...]]


class Failed(Exception):
    """The work cannot go on; the text is one line for people."""


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class Ray:
    """Of the cluster with that address, that of RAY_ADDRESS, else of this machine alone."""

    def __init__(self, address: Optional[str], memory: Optional[int]) -> None:
        self._ray = _package("ray")
        self._memory = memory
        self._refs: list[Any] = []
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            raise Failed(f"Ray does not answer: {_first_line(error)}") from None

    def run(self, function: Function, tasks: Tasks) -> Iterator[tuple[int, Any]]:
        errors = self._ray.exceptions
        remote = self._ray.remote(function).options(
            max_retries=_RETRIES, num_cpus=1, memory=self._memory, scheduling_strategy="SPREAD"
        )
        self._refs = [remote.remote(*task) for task in tasks]
        numbers = {ref: number for number, ref in enumerate(self._refs)}
        waiting = list(self._refs)
        while waiting:
            (done, *_), waiting = self._ray.wait(waiting, num_returns=1)
            try:
                result = self._ray.get(done)
            except errors.RayTaskError as error:
                raise Failed(_first_line(error.cause)) from None
            except errors.RayError as error:
                raise Failed(f"a part failed on every worker: {_first_line(error)}") from None
            yield numbers[done], result

    def close(self, is_cancelled: bool) -> None:
        for ref in self._refs if is_cancelled else ():
            self._ray.cancel(ref, force=True)
        self._ray.shutdown()


class Dask:
    """Of the scheduler with that address, else of workers on this machine."""

    def __init__(self, address: Optional[str], memory: Optional[int]) -> None:
        self._distributed = _package("distributed")
        importlib.import_module("dask").config.set(
            {"distributed.scheduler.allowed-failures": _RETRIES}
        )
        local = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
        self._futures: list[Any] = []
        try:
            self._client = self._distributed.Client(address, **({} if address else local))
        except OSError as error:
            raise Failed(f"Dask does not answer: {_first_line(error)}") from None

    def run(self, function: Function, tasks: Tasks) -> Iterator[tuple[int, Any]]:
        self._futures = [self._client.submit(function, *task, pure=False) for task in tasks]
        numbers = {future.key: number for number, future in enumerate(self._futures)}
        for future in self._distributed.as_completed(self._futures):
            try:
                result = future.result()
            except self._distributed.KilledWorker:
                raise Failed(f"a part failed on {_RETRIES + 1} workers that ended") from None
            except RuntimeError as error:
                raise Failed(_first_line(error)) from None
            yield numbers[future.key], result

    def close(self, is_cancelled: bool) -> None:
        if is_cancelled:
            self._client.cancel(self._futures)
        self._client.close()


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Failed(
            f"{error}: install it (pip install 'sonde[ray]' or 'sonde[dask]'), or name a Python "
            "that has it in SONDE_ENGINE_PYTHON"
        ) from None


def open_engine(name: str, memory: Optional[int]) -> Union[Ray, Dask]:
    """``ray``, ``dask``, or the address of a cluster: ``ray://HOST:PORT``, ``tcp://HOST:PORT``."""
    kind, _, address = name.partition("://")
    if kind == "ray":
        return Ray(name if address else None, memory)
    if kind in ("dask", "tcp", "tls"):
        return Dask(name if address else None, memory)
    raise Failed(f"there is no engine '{name}': ray, dask, ray://HOST:PORT or tcp://HOST:PORT")
