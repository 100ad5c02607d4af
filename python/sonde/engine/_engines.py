"""Ray and Dask by one small interface: ``Engine`` in ``_job``."""

import importlib
from collections.abc import Collection, Iterator
from typing import Any, Optional

from sonde.engine._job import RETRIES, End, Engine, Failed, Function, Lost, first_line


def _at_place(engine: str, function: Function, task: tuple[Any, ...]) -> tuple[Any, str, str]:
    """On the worker: the value of the function, where that is, and why there is no value."""
    if engine == "ray":
        import ray

        place = ray.get_runtime_context().get_node_id()
    else:
        import distributed

        place = distributed.get_worker().address
    try:
        return function(*task), place, ""
    except OSError as error:  # of the machine, and not of the work
        return None, place, str(error)


_at_place.__module__ = "__main__"  # then engines send it by value


class Ray:
    """Of the cluster with that address, that of RAY_ADDRESS, else of this machine alone."""

    def __init__(self, address: Optional[str], memory: Optional[int]) -> None:
        self._ray = _package("ray")
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            raise Lost(f"Ray does not answer: {first_line(error)}") from None
        self._own_node = self._ray.get_runtime_context().get_node_id()
        self._remote = self._ray.remote(_at_place).options(
            name="map_part", max_retries=0, num_cpus=1, memory=memory, scheduling_strategy="SPREAD"
        )

    def places(self) -> list[str]:
        return [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]

    def place_of(self, ref: Any) -> str:
        return ""  # one that is stopped holds its processor: nothing is given to it

    def submit(self, function: Function, task: tuple[Any, ...], places: list[str]) -> Any:
        remote = self._remote
        if places:
            by_node = importlib.import_module("ray.util.scheduling_strategies")
            strategy = by_node.NodeAffinitySchedulingStrategy(places[0], soft=True)
            remote = remote.options(scheduling_strategy=strategy)
        return remote.remote("ray", function, task)

    def wait(self, running: Collection[Any], seconds: float) -> Iterator[tuple[Any, End]]:
        errors = self._ray.exceptions
        ended = self._ray.wait(list(running), num_returns=1, timeout=seconds)[0]
        if not ended and self._own_node not in self.places():
            raise Lost(
                "the head of Ray is another one"
            )  # who waits for tasks of the old one waits on
        for ref in ended:
            try:
                yield ref, End(*self._ray.get(ref))
            except errors.RayTaskError as error:
                raise Failed(first_line(error.cause)) from None
            except errors.RayError as error:
                yield ref, End(lost=first_line(error))

    def drop(self, ref: Any) -> None:
        self._ray.cancel(ref, force=True)

    def close(self) -> None:
        self._ray.shutdown()


class Dask:
    """Of the scheduler with that address, else of workers on this machine."""

    def __init__(self, address: Optional[str], memory: Optional[int]) -> None:
        self._distributed = _package("distributed")
        importlib.import_module("dask").config.set(
            {"distributed.scheduler.allowed-failures": RETRIES}
        )
        local = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
        try:
            self._client = self._distributed.Client(address, **({} if address else local))
        except OSError as error:
            raise Lost(f"Dask does not answer: {first_line(error)}") from None

    def places(self) -> list[str]:
        return list(self._client.scheduler_info(-1)["workers"])

    def place_of(self, future: Any) -> str:
        processing = self._client.processing().items()
        return next((worker for worker, keys in processing if future.key in keys), "")

    def submit(self, function: Function, task: tuple[Any, ...], places: list[str]) -> Any:
        workers = places or None
        return self._client.submit(_at_place, "dask", function, task, pure=False, workers=workers)

    def wait(self, running: Collection[Any], seconds: float) -> Iterator[tuple[Any, End]]:
        try:
            done = self._distributed.wait(
                list(running), timeout=seconds, return_when="FIRST_COMPLETED"
            ).done
        except self._distributed.TimeoutError:
            return
        except self._distributed.client.FuturesCancelledError:
            raise Lost("the scheduler of Dask is lost") from None
        for future in done:
            try:
                yield future, End(*future.result())
            except self._distributed.KilledWorker as error:
                yield future, End(lost=first_line(error))
            except RuntimeError as error:
                raise Failed(first_line(error)) from None

    def drop(self, future: Any) -> None:
        self._client.cancel([future])

    def close(self) -> None:
        self._client.close()


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Failed(
            f"{error}: install it (pip install 'sonde[ray]' or 'sonde[dask]'), or name a Python "
            "that has it in SONDE_ENGINE_PYTHON"
        ) from None


def open_engine(name: str, memory: Optional[int]) -> Engine:
    """``ray``, ``dask``, or the address of a cluster: ``ray://HOST:PORT``, ``tcp://HOST:PORT``."""
    kind, _, address = name.partition("://")
    if kind == "ray":
        return Ray(name if address else None, memory)
    if kind in ("dask", "tcp", "tls"):
        return Dask(name if address else None, memory)
    raise Failed(f"there is no engine '{name}': ray, dask, ray://HOST:PORT or tcp://HOST:PORT")
