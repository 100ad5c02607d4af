"""Changes to the workers of a vLLM server: what is a step, which batch it ran, and who takes part
in collectives that name no group."""

import functools
from typing import Any, Callable, Optional

from sonde import _native
from sonde._inject._after_import import when_imported
from sonde.vllm import _marks

#: Begins a step; None: the number after the last one.
BeginStep = Callable[[Optional[int]], None]

_IDLES = "_sonde_idles"  # attribute of a model runner: it runs for company


def change_worker(module: Any, begin_step: BeginStep, end_step: Callable[[], None]) -> None:
    """A step is ``execute_model`` and the ``sample_tokens`` that follows it; the empty one that
    only frees a request's blocks is none."""
    worker = module.Worker
    execute, sample = worker.execute_model, getattr(worker, "sample_tokens", None)

    @functools.wraps(execute)
    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(scheduler_output, "total_num_scheduled_tokens", 0):
            return execute(self, scheduler_output, *args, **kwargs)
        key = getattr(scheduler_output, "sonde_step", 0)
        begin_step(_marks.step_number(key) if key else None)
        native = _marks.recorder()
        if native is None:
            output = execute(self, scheduler_output, *args, **kwargs)
        else:
            _tell_batch(native, scheduler_output, key)
            with _marks.Range(native, "execute model"):
                output = execute(self, scheduler_output, *args, **kwargs)
        if output is not None or sample is None:
            end_step()
        return output

    worker.execute_model = execute_model
    _change_dummy_batch(worker)
    # Only a process with a worker in it waits for work this way.
    when_imported("vllm.distributed.device_communicators.shm_broadcast", _change_waiting)
    if sample is None:
        return

    @functools.wraps(sample)
    def sample_tokens(self: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        try:
            if native is None:
                return sample(self, *args, **kwargs)
            with _marks.Range(native, "sample tokens"):
                return sample(self, *args, **kwargs)
        finally:
            end_step()

    worker.sample_tokens = sample_tokens


def change_runner(module: Any) -> None:
    """``vllm.v1.worker.gpu_model_runner``: runs on made-up input are no steps, but ranges of their
    own: "warm-up" (also the compiler's and the memory's), "graph capture", and "dummy batch", with
    which a data-parallel rank without work keeps the others company."""
    runner = module.GPUModelRunner
    run = runner._dummy_run

    @functools.wraps(run)
    def our_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        if native is None:
            return run(self, *args, **kwargs)
        name = "graph capture" if kwargs.get("is_graph_capturing") else "warm-up"
        with _marks.Range(native, "dummy batch" if getattr(self, _IDLES, False) else name):
            return run(self, *args, **kwargs)

    runner._dummy_run = our_run


def _change_dummy_batch(worker: Any) -> None:
    execute = getattr(worker, "execute_dummy_batch", None)
    if execute is None:
        return

    @functools.wraps(execute)
    def execute_dummy_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        setattr(self.model_runner, _IDLES, True)
        try:
            return execute(self, *args, **kwargs)
        finally:
            setattr(self.model_runner, _IDLES, False)

    worker.execute_dummy_batch = execute_dummy_batch


def _change_waiting(module: Any) -> None:
    """A worker that waits for its next call polls for a second, then sleeps: one range "idle"."""
    queue = module.MessageQueue
    dequeue = queue.dequeue

    @functools.wraps(dequeue)
    def our_dequeue(self: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        if native is None:
            return dequeue(self, *args, **kwargs)
        with _marks.Range(native, "idle"):
            return dequeue(self, *args, **kwargs)

    queue.dequeue = our_dequeue


def _tell_batch(native: _native.Recorder, output: Any, key: int) -> None:
    """The engine step that this one is part of, and its batch as counters."""
    if key:
        native.fast.sonde_flow_in(native.intern("sonde.step"), key)
    batch = {"prefill requests": 0, "prefill tokens": 0, "decode requests": 0, "decode tokens": 0}
    for phase, tokens in _marks.phases(output).values():
        batch[f"{phase} requests"] += 1
        batch[f"{phase} tokens"] += tokens
    for name, value in batch.items():
        _marks.count(native, name, value)


def change_shared_memory(module: Any) -> None:
    """Collectives of a server on a CPU are operators that name no group: the groups go into the
    captures' metadata as they are made."""
    original = module._CPUSHMDistributed.__init__
    groups: list[dict[str, Any]] = []

    def __init__(self: Any, communicator: Any) -> None:
        original(self, communicator)
        name = getattr(communicator, "unique_name", "")
        groups.append({"name": name, "ranks": [int(rank) for rank in communicator.ranks]})
        _native.recorder().metadata("shared_memory_groups", _native.json_text(groups))

    module._CPUSHMDistributed.__init__ = __init__
