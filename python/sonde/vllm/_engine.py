"""Changes to the engine of a vLLM server: what it schedules, and what comes out.

Each step that computes tokens is one range "engine step", from the choice of the batch to the end
of its output; the choice ("schedule") and dealing with the output ("update") are ranges of their
own. The number of the step travels to the ranks in the scheduler's output.
"""

import functools
from typing import Any, Optional

from sonde import _native
from sonde._inject import _report
from sonde.vllm import _configuration, _marks, _session
from sonde.vllm._capture import ProcessCapture, trace_folder

_COMPILED = (
    "the model runs compiled: what the compiler made is one range a region, with the operators "
    "that it calls and the kernels that it generated inside; the modules inside are not seen "
    "(--enforce-eager shows them)"
)

# Executors whose only worker lives in the engine's process: its capture holds the engine, too.
_IN_PROCESS = ("UniProcExecutor", "ExecutorWithExternalLauncher")


class Engine:
    """What is known about one scheduler besides what vLLM knows."""

    def __init__(self, scheduler: Any) -> None:
        config = getattr(scheduler, "parallel_config", None)
        number = getattr(config, "data_parallel_index", None)
        if number is None:
            number = getattr(config, "data_parallel_rank", None)
        self.number = int(number or 0)
        self.steps = 0
        self.begun: dict[int, int] = {}  # step key -> number of its range
        self.session = -1  # number of the recorder's session that knows the live requests

    def number_step(self, output: Any) -> int:
        """Key of the step that a batch belongs to, 0 for the empty one that only frees requests."""
        if not output.total_num_scheduled_tokens:
            return 0
        key = _marks.step_key(self.number, self.steps)
        self.steps += 1
        output.sonde_step = key
        return key


def change_scheduler(module: Any) -> None:
    """``vllm.v1.core.sched.scheduler``."""
    _change_steps(module.Scheduler)
    _change_requests(module.Scheduler)


def _engine_of(scheduler: Any) -> Engine:
    engine = scheduler.__dict__.get("_sonde_engine")
    if engine is None:
        engine = scheduler._sonde_engine = Engine(scheduler)
    return engine


def _change_steps(scheduler: Any) -> None:
    """What is done once a step: choosing the batch, and taking in what the ranks computed."""
    schedule, update = scheduler.schedule, scheduler.update_from_output

    @functools.wraps(schedule)
    def our_schedule(self: Any, *args: Any, **kwargs: Any) -> Any:
        engine, native = _engine_of(self), _marks.recorder()
        if native is None:
            output = schedule(self, *args, **kwargs)
            engine.number_step(output)
            return output
        _tell_known(native, engine, self)
        with _marks.Range(native, "schedule") as mark:
            output = schedule(self, *args, **kwargs)
            key = engine.number_step(output)
            if key:
                _tell_batch(mark, output, key)
                engine.begun[key] = _marks.start(native, "engine step")
                _count(native, self, output)
        return output

    @functools.wraps(update)
    def our_update(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        key = getattr(scheduler_output, "sonde_step", 0)
        if native is None or not key:
            return update(self, scheduler_output, *args, **kwargs)
        with _marks.Range(native, "update") as mark:
            mark.arrives("update", key)
            outputs = update(self, scheduler_output, *args, **kwargs)
            for one in outputs.values():
                for output in one.outputs:
                    if output.new_token_ids:
                        tokens = len(output.new_token_ids)
                        mark.arrives(f"output {tokens}", _marks.request_key(output.request_id))
        _marks.end(native, _engine_of(self).begun.pop(key, 0))
        return outputs

    scheduler.schedule, scheduler.update_from_output = our_schedule, our_update


def _change_requests(scheduler: Any) -> None:
    """What happens to one request: it comes, goes, and may be put back into the queue."""
    add, free = scheduler.add_request, scheduler._free_request
    preempt = getattr(scheduler, "_preempt_request", None)

    @functools.wraps(add)
    def our_add(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        if native is not None:
            _tell_request(native, request, is_queued=True)
        return add(self, request, *args, **kwargs)

    @functools.wraps(free)
    def our_free(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        if native is not None:
            _tell_end(native, request)
        return free(self, request, *args, **kwargs)

    def our_preempt(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        native = _marks.recorder()
        if native is not None:
            key = _marks.request_key(request.request_id)
            native.fast.sonde_flow_in(native.intern("sonde.preempt"), key)
        return preempt(self, request, *args, **kwargs)

    scheduler.add_request, scheduler._free_request = our_add, our_free
    if preempt is not None:
        scheduler._preempt_request = our_preempt


def _tell_known(native: _native.Recorder, engine: Engine, scheduler: Any) -> None:
    """At the first batch of a session: the requests that were there before."""
    number = native.features_word()
    if engine.session == number:
        return
    engine.session = number
    engine.begun.clear()
    for request in list(scheduler.requests.values()):
        _tell_request(native, request, is_queued=False)


def _tell_request(native: _native.Recorder, request: Any, is_queued: bool) -> None:
    """A request that is queued now, or was before the recording."""
    facts = {
        "request": request.request_id,
        "key": _marks.request_key(request.request_id),
        "age_ns": _marks.age_ns(request),
        "prompt_tokens": int(request.num_prompt_tokens),
        "output_tokens": int(request.num_output_tokens),
        "queued": int(is_queued),
    }
    _marks.mark(native, "request queued", facts)


def _tell_end(native: _native.Recorder, request: Any) -> None:
    reason = request.get_finished_reason()
    facts = {"key": _marks.request_key(request.request_id), "reason": str(reason)}
    preemptions = getattr(request, "num_preemptions", None)
    if preemptions is not None:
        facts["preemptions"] = int(preemptions)
    _marks.mark(native, "request finished", facts)


def _tell_batch(mark: _marks.Range, output: Any, key: int) -> None:
    """Each request of the batch with its phase, and what the prefix cache had of new ones."""
    mark.leaves("step", key)
    for name, (phase, tokens) in _marks.phases(output).items():
        mark.arrives(f"{phase} {tokens}", _marks.request_key(name))
    for request in output.scheduled_new_reqs:
        if request.num_computed_tokens:
            hits = request.num_computed_tokens
            mark.arrives(f"cached {hits}", _marks.request_key(request.req_id))


def _count(native: _native.Recorder, scheduler: Any, output: Any) -> None:
    running, waiting = len(scheduler.running), len(scheduler.waiting)
    _marks.count(native, "running requests", running)
    _marks.count(native, "waiting requests", waiting)
    _marks.count(native, "scheduled tokens", output.total_num_scheduled_tokens)
    usage = getattr(getattr(scheduler, "kv_cache_manager", None), "usage", None)
    if usage is not None:
        _marks.count(native, "KV cache use", usage)


def change_core(module: Any) -> None:
    """``vllm.v1.engine.core``: a session of the engine around that of its ranks."""
    core = module.EngineCore
    profile = core.profile

    @functools.wraps(profile)
    def our_profile(self: Any, is_start: bool = True, *args: Any, **kwargs: Any) -> Any:
        capture = self.__dict__.get("_sonde_capture")
        if capture is None:
            capture = self._sonde_capture = ProcessCapture(f"engine{_engine_number(self)}")
        if is_start and not capture.is_begun:  # several front-ends may ask
            prefix = args[0] if args else kwargs.get("profile_prefix")
            _begin(self, capture, prefix)
        try:
            return profile(self, is_start, *args, **kwargs)
        finally:
            if not is_start:
                capture.stop()
                capture.is_begun = False

    core.profile = our_profile


def _engine_number(core: Any) -> int:
    scheduler = getattr(core, "scheduler", None)
    return 0 if scheduler is None else Engine(scheduler).number


def _begin(core: Any, capture: ProcessCapture, prefix: Optional[str]) -> None:
    config = getattr(core, "vllm_config", None)
    folder = trace_folder(config)
    if folder is None:
        return
    if not core.__dict__.get("_sonde_said_compiled") and _configuration.is_compiled(config):
        core._sonde_said_compiled = True
        _report.say(_COMPILED)
    try:
        session = _session.begin(folder, prefix, _engine_number(core))
        capture.is_begun = True
    except OSError as problem:
        _report.say(f"the engine is not recorded: {problem}", error=True)
        return
    if type(getattr(core, "model_executor", None)).__name__ not in _IN_PROCESS:
        capture.start(session)
