"""Changes to the workers of a vLLM server: its steps, their batches, and the members
of collectives that name no group."""

import sys
from typing import Any, Callable, Optional

from sonde import _native
from sonde._seams import Around, Part, Seam
from sonde.session import _metadata
from sonde.vllm import _marks

#: Begins a step; None: the number after the last one.
BeginStep = Callable[[Optional[int]], None]

_IDLES = "_sonde_idles"  # attribute of a model runner: it runs for company
_WORKER = "vllm.v1.worker.gpu_worker"


def seams(begin_step: BeginStep, end_step: Callable[[], None]) -> tuple[Seam, ...]:
    """Of the processes that compute; the functions are called for their steps."""
    communication = "vllm.distributed.device_communicators"
    steps = _Steps(begin_step, end_step)
    return (
        Seam(
            "steps of the ranks",
            _WORKER,
            (
                Part("Worker.execute_model", steps.execute_model),
                Part("Worker.sample_tokens", steps.sample_tokens, optional=True),
            ),
        ),
        Seam(
            "batches for company",
            _WORKER,
            (Part("Worker.execute_dummy_batch", _dummy_batch),),
            is_extra=True,
        ),
        # Two generations of the runner, of which a server uses one.
        Seam(
            "runs on made-up input",
            ("vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu.model_runner"),
            (Part("GPUModelRunner._dummy_run", _dummy_run),),
            is_extra=True,
        ),
        Seam(
            "waiting of the ranks",
            f"{communication}.shm_broadcast",
            (Part("MessageQueue.dequeue", _dequeue),),
            is_extra=True,
        ),
        Seam(
            "groups of collectives through shared memory",
            f"{communication}.cpu_communicator",
            (Part("_CPUSHMDistributed.__init__", _Groups().made),),
            is_extra=True,
        ),
        Seam(
            "what the server calls its groups",
            "vllm.distributed.parallel_state",
            (Part("GroupCoordinator.__init__", _name_groups),),
            is_extra=True,
        ),
        # Its own fault: with the profiler's variable set, every step asks it for these.
        Seam(
            "profiler of a worker without a GPU",
            ("vllm.v1.worker.cpu_worker", "vllm.v1.worker.xpu_worker"),
            (Part("CPUWorker.__init__", _complete_profiler, optional=True),
             Part("XPUWorker.__init__", _complete_profiler, optional=True)),
            since=(0, 12),
            until=(0, 13),
            is_extra=True,
        ),
    )  # fmt: skip


class _Steps:
    """A step is ``execute_model`` and the ``sample_tokens`` that follows it; the empty one that
    only frees a request's blocks is none."""

    def __init__(self, begin_step: BeginStep, end_step: Callable[[], None]) -> None:
        self._begin = begin_step
        self._end = end_step

    def execute_model(self, worker: Any, scheduler_output: Any, *_: Any, **__: Any) -> Around:
        """Begins a step, and ends it where there is no second half."""
        if not getattr(scheduler_output, "total_num_scheduled_tokens", 0):
            return
        key = getattr(scheduler_output, "sonde_step", 0)
        self._begin(_marks.step_number(key) if key else None)
        native = _marks.recorder()
        if native is None:
            output = yield
        else:
            _record_batch(native, scheduler_output, key)
            with _marks.Range(native, "execute model"):
                output = yield
        if output is not None or not hasattr(worker, "sample_tokens"):
            self._end()

    def sample_tokens(self, *_: Any, **__: Any) -> Around:
        """Ends the step."""
        native = _marks.recorder()
        try:
            if native is None:
                yield
            else:
                with _marks.Range(native, "sample tokens"):
                    yield
        finally:
            self._end()


def _dummy_run(self: Any, *_: Any, **kwargs: Any) -> Around:
    """Runs on made-up input are no steps, but ranges of their own: "warm-up" (also the compiler's
    and the memory's), "graph capture", and "dummy batch", with which a data-parallel rank without
    work keeps the others company."""
    native = _marks.recorder()
    if native is None:
        return
    name = "graph capture" if kwargs.get("is_graph_capturing") else "warm-up"
    with _marks.Range(native, "dummy batch" if getattr(self, _IDLES, False) else name):
        yield


def _dummy_batch(self: Any, *_: Any, **__: Any) -> Around:
    setattr(self.model_runner, _IDLES, True)
    try:
        yield
    finally:
        setattr(self.model_runner, _IDLES, False)


def _dequeue(self: Any, *_: Any, **__: Any) -> Around:
    """A worker that waits for its next call polls for a second, then sleeps: one range "idle"."""
    native = _marks.recorder()
    # Only a process with a worker in it waits for work this way.
    if native is None or _WORKER not in sys.modules:
        return
    with _marks.Range(native, "idle"):
        yield


def _complete_profiler(self: Any, *_: Any, **__: Any) -> Around:
    yield
    profiler = getattr(self, "profiler", None)
    if profiler is None or hasattr(profiler, "annotate_context_manager"):
        return
    profiler.annotate_context_manager = sys.modules["torch"].profiler.record_function
    profiler.shutdown = lambda: None


def _record_batch(native: _native.Recorder, output: Any, key: int) -> None:
    """The engine step that this one is part of, and its batch as counters."""
    if key:
        native.fast.sonde_flow_in(native.intern("sonde.step"), key)
    batch = {"prefill requests": 0, "prefill tokens": 0, "decode requests": 0, "decode tokens": 0}
    for phase, tokens in _marks.phases(output).values():
        batch[f"{phase} requests"] += 1
        batch[f"{phase} tokens"] += tokens
    for name, value in batch.items():
        _marks.count(native, name, value)


class _Groups:
    """Collectives of a server on a CPU are operators that name no group: the groups go into the
    captures' metadata as they are made."""

    def __init__(self) -> None:
        self._known: list[dict[str, Any]] = []

    def made(self, _: Any, communicator: Any) -> Around:
        """One more."""
        yield
        name = getattr(communicator, "unique_name", "")
        self._known.append({"name": name, "ranks": [int(rank) for rank in communicator.ranks]})
        _native.recorder().metadata("shared_memory_groups", _native.json_text(self._known))


def _name_groups(coordinator: Any, *_: Any, **__: Any) -> Around:
    """Torch only numbers them."""
    yield
    for kind in ("device_group", "cpu_group"):
        group = getattr(coordinator, kind, None)
        if group is not None:
            _metadata.describe_group(group, coordinator.unique_name)
