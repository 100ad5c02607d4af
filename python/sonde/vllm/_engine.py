"""Changes to the engine of a vLLM server: what it schedules, and what comes out.

Each step that computes tokens is one range "engine step", from the choice of the batch to the end
of its output; the choice ("schedule") and dealing with the output ("update") are ranges of their
own. The number of the step travels to the ranks in the scheduler's output.
"""

import sys
from typing import Any, Optional

from sonde import _native, _report
from sonde._seams import Around, Part, Seam
from sonde.vllm import _alone, _capture, _configuration, _http_headers, _marks, _session
from sonde.vllm._capture import ProcessCapture, served_model, trace_folder

_COMPILED = (
    "the model runs compiled: {regions} the operators that it calls and the kernels that it "
    "generated, in the modules that they belong to"
)
_REGIONS = "what the compiler made is one range a region, with"
_NO_REGIONS = "this torch does not name its regions (2.9 does), recorded are"

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

    def number_step(self, scheduler: Any, output: Any) -> int:
        """Key of the step that a batch belongs to, 0 for the empty one that only frees requests."""
        if not output.total_num_scheduled_tokens:
            return 0
        key = _marks.step_key(self.number, self.steps)
        self.steps += 1
        output.sonde_step = key
        if not _marks.has_output_counts(output):
            output.sonde_decodes = _decodes(scheduler, output)
        return key


def _decodes(scheduler: Any, output: Any) -> list[str]:
    """The requests of a batch that have an output already, where the batch lacks that."""
    known = scheduler.requests
    names = (name for name in output.num_scheduled_tokens if name in known)
    return [name for name in names if known[name].num_output_tokens]


def seams() -> tuple[Seam, ...]:
    """Of the process that schedules."""
    scheduler, core = "vllm.v1.core.sched.scheduler", "vllm.v1.engine.core"
    return (
        Seam(
            "engine steps",
            scheduler,
            (Part("Scheduler.schedule", _schedule), Part("Scheduler.update_from_output", _update)),
            reads=[
                f"vllm.v1.core.sched.output:SchedulerOutput.{name}"
                for name in ("total_num_scheduled_tokens", "num_scheduled_tokens",
                             "scheduled_new_reqs", "scheduled_cached_reqs", "finished_req_ids")
            ],
        ),
        Seam(
            "requests in the engine",
            scheduler,
            (
                Part("Scheduler.add_request", _add),
                Part("Scheduler._free_request", _free),
                Part("Scheduler._preempt_request", _preempt, optional=True),
            ),
            reads=["vllm.v1.request:Request.num_output_tokens",
                   "vllm.v1.request:Request.get_finished_reason"],
        ),
        Seam(
            "sessions of the engine",
            core,
            (
                Part("EngineCore.profile", _profile),
                Part(
                    "EngineCoreProc._invoke_utility_method",
                    replace=_alone.answer_later,
                    optional=True,
                ),
            ),
        ),
    )  # fmt: skip


def _engine_of(scheduler: Any) -> Engine:
    engine = scheduler.__dict__.get("_sonde_engine")
    if engine is None:
        engine = scheduler._sonde_engine = Engine(scheduler)
    return engine


def _schedule(self: Any, *_: Any, **__: Any) -> Around:
    """The choice of the batch: here a step begins."""
    engine, native = _engine_of(self), _marks.recorder()
    if native is None:
        engine.number_step(self, (yield))
        return
    _record_known(native, engine, self)
    native.fast.sonde_processor_use()  # at begin and end of a step, as those of ranks do
    with _marks.Range(native, "schedule") as mark:
        output = yield
        key = engine.number_step(self, output)
        if key:
            _record_batch(mark, output, key)
            engine.begun[key] = _marks.start(native, "engine step")
            _count(native, self, output)


def _update(self: Any, scheduler_output: Any, *_: Any, **__: Any) -> Around:
    """What the ranks computed is taken in: the step ends."""
    native = _marks.recorder()
    key = getattr(scheduler_output, "sonde_step", 0)
    if native is None or not key:
        return
    with _marks.Range(native, "update") as mark:
        mark.arrives("update", key)
        drafts = getattr(scheduler_output, "scheduled_spec_decode_tokens", None) or {}
        outputs = yield
        accepted = 0
        for name, tokens in drafts.items():
            if tokens:
                mark.arrives(f"drafted {len(tokens)}", _marks.request_key(name))
        for one in outputs.values():
            for output in one.outputs:
                tokens = len(output.new_token_ids or ())
                if tokens:
                    mark.arrives(f"output {tokens}", _marks.request_key(output.request_id))
                    accepted += tokens - 1 if output.request_id in drafts else 0
        if drafts:
            _marks.count(native, "drafted tokens", sum(map(len, drafts.values())))
            _marks.count(native, "accepted draft tokens", accepted)
    native.fast.sonde_processor_use()
    _marks.end(native, _engine_of(self).begun.pop(key, 0))


def _add(self: Any, request: Any, *_: Any, **__: Any) -> None:
    native = _marks.recorder()
    if native is not None:
        _record_request(native, request, is_queued=True)


def _free(self: Any, request: Any, *_: Any, **__: Any) -> None:
    native = _marks.recorder()
    if native is not None:
        _record_end(native, request)


def _preempt(self: Any, request: Any, *_: Any, **__: Any) -> None:
    native = _marks.recorder()
    if native is not None:
        key = _marks.request_key(request.request_id)
        native.fast.sonde_flow_in(native.intern("sonde.preempt"), key)


def _record_known(native: _native.Recorder, engine: Engine, scheduler: Any) -> None:
    """At the first batch of a session: the requests that were there before."""
    number = native.features_word()
    if engine.session == number:
        return
    engine.session = number
    engine.begun.clear()
    for request in list(scheduler.requests.values()):
        _record_request(native, request, is_queued=False)


def _record_request(native: _native.Recorder, request: Any, is_queued: bool) -> None:
    """A request that is queued now, or was before the recording."""
    facts = {
        "request": _marks.shown_name(request.request_id),
        "key": _marks.request_key(request.request_id),
        "age_ns": _marks.age_ns(request),
        "prompt_tokens": int(request.num_prompt_tokens),
        "output_tokens": int(request.num_output_tokens),
        "queued": int(is_queued),
        **_marks.settings_of(request),
        **_http_headers.traced(getattr(request, "trace_headers", None)),
    }
    _marks.mark(native, "request queued", facts)


def _record_end(native: _native.Recorder, request: Any) -> None:
    reason = request.get_finished_reason()
    facts = {"key": _marks.request_key(request.request_id), "reason": str(reason)}
    preemptions = getattr(request, "num_preemptions", None)
    if preemptions is not None:
        facts["preemptions"] = int(preemptions)
    _marks.mark(native, "request finished", facts)


def _record_batch(mark: _marks.Range, output: Any, key: int) -> None:
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


def _profile(self: Any, is_start: bool = True, *args: Any, **kwargs: Any) -> Around:
    """A session of the engine around that of its ranks."""
    capture = self.__dict__.get("_sonde_capture")
    if capture is None:
        capture = self._sonde_capture = ProcessCapture(f"engine{_engine_number(self)}")
        model = served_model(getattr(self, "vllm_config", None))
        if model is not None:
            capture.facts["served_model"] = model
    if is_start and not capture.is_begun:  # several front-ends may ask
        prefix = args[0] if args else kwargs.get("profile_prefix")
        _begin(self, capture, prefix)
    try:
        yield
    finally:
        if not is_start:
            capture.stop()
            capture.is_begun = False
            session, capture.session = capture.session, None
            _alone.finish(session, _engine_number(self))


def _engine_number(core: Any) -> int:
    scheduler = getattr(core, "scheduler", None)
    return 0 if scheduler is None else Engine(scheduler).number


def _names_regions() -> bool:
    version = str(getattr(sys.modules.get("torch"), "__version__", "")).split(".")
    return [int(part) for part in version[:2] if part.isdigit()] >= [2, 9]


def _begin(core: Any, capture: ProcessCapture, prefix: Optional[str]) -> None:
    config = getattr(core, "vllm_config", None)
    folder = trace_folder(config)
    if folder is None:
        return
    if not core.__dict__.get("_sonde_reported_compiled") and _configuration.is_compiled(config):
        core._sonde_reported_compiled = True
        _report.log(_COMPILED.format(regions=_REGIONS if _names_regions() else _NO_REGIONS))
    try:
        session = _session.begin(folder, prefix, _engine_number(core))
        capture.session, capture.is_begun = session, True
        _alone.begin(session)
    except OSError as problem:
        _report.log(f"the engine is not recorded: {problem}", error=True)
        return
    _report.note("session", session)
    other = _configuration.other_profiler(config)
    _configuration.warn_of_other(other, _capture.options)
    if other or type(getattr(core, "model_executor", None)).__name__ not in _IN_PROCESS:
        capture.start(session)
