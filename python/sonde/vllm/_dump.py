"""Dumps of a vLLM server: what flows through the model in each engine step.

``--additional-config`` names the configuration as for vllm-ascend: ``{"dump_config": {...}}`` or
``{"dump_config_path": "FILE"}``; ``sonde run --dump-config FILE -- vllm serve`` does the same. A
step is ``execute_model`` of the model runner and the ``sample_tokens`` after it; the empty step
that frees a finished request, and warm-up, are none.
Threads: the worker's; orders come from the control thread.
"""

import os
from typing import Any, Optional

from sonde import _report
from sonde._inject import _dump_control
from sonde._seams import Around, Part, Refusal, Seam, is_changed
from sonde.vllm import _configuration
from sonde.vllm._requests import Selection, read_order

_COMPILED = (
    "the model runs compiled: nothing calls its modules and functions one by one, and only what is "
    "around them is dumped; use the level L0 or mix, or start the server with --enforce-eager"
)
_BOUNDARIES = (
    "the model runs compiled: modules whose results are in memory between its kernels are dumped; "
    '"graph": "complete" in the configuration dumps all, and compiles the model once more'
)

_is_watching = False
_dumpers: "list[Dumper]" = []  # of this process


def watch() -> None:
    """Has the model runners changed as they are imported. Safe to call again."""
    global _is_watching
    if _is_watching:
        return
    _is_watching = True
    for seam in seams():
        seam.install()


def seams() -> tuple[Seam, ...]:
    """Of the front-end, which checks the configuration, and of the processes that compute."""
    return (
        Seam(
            "check of a dump's configuration",
            "vllm.engine.arg_utils",
            (Part("EngineArgs.create_engine_config", _check_before_start),),
            is_extra=True,
        ),
        Seam(
            "dumps of weights",
            "vllm.model_executor.model_loader.base_loader",
            (Part("process_weights_after_loading", _dump_weights),),
            is_extra=True,
        ),
        Seam(
            "dumps of engine steps",
            ("vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu.model_runner"),
            (
                Part("GPUModelRunner.__init__", _made),
                Part("GPUModelRunner.execute_model", _execute_model),
                Part("GPUModelRunner.sample_tokens", _second_half, optional=True),
                Part("GPUModelRunner.pool", _second_half, optional=True),
            ),
        ),
    )


def _dump_weights(model: Any, *_: Any, **__: Any) -> None:
    """Weights are dumped before they are packed for this processor."""
    for dumper in _dumpers:
        dumper.weights(model)


def read_config(additional: Any) -> Any:
    """Configuration of a server, None without. Raises ``ValueError`` and what the probe raises."""
    additional = additional if isinstance(additional, dict) else {}
    content, path = additional.get("dump_config"), additional.get("dump_config_path")
    if content is not None and not isinstance(content, dict):
        raise ValueError(
            f"additional_config.dump_config must be a dict, got {type(content).__name__}."
        )
    if path is not None and not isinstance(path, str):
        raise ValueError(
            f"additional_config.dump_config_path must be a string, got {type(path).__name__}."
        )
    if content is not None and path is not None:
        raise ValueError(
            "Only one of additional_config.dump_config_path or additional_config.dump_config "
            "can be set."
        )
    if content is None and not path:
        path = os.environ.get("SONDE_DUMP_CONFIG")
    if content is None and not path:
        return None
    from sonde.torch.precision import _config

    config = _config.check(content) if content is not None else _config.read(path)
    if config.requests is not None:
        read_order(config.requests)
    return config


def _check_before_start(self: Any, *_: Any, **__: Any) -> None:
    """A configuration that cannot work is refused by the front-end, before anything is started."""
    try:
        config = read_config(getattr(self, "additional_config", None))
        if config is not None:
            _check_use(config)
    except Exception as problem:  # what is wrong with it
        raise Refusal(problem) from None


def _check_use(config: Any) -> None:
    """What else would fail with the first step. Raises what the probe raises."""
    from sonde.torch.precision import _config
    from sonde.torch.precision._scope import Scope

    Scope(config)
    if config.dump_path:
        _config.check_folder(config.dump_path)
    if config.graph == "complete":
        # vLLM takes compiled code by settings of its own that do not know of ours.
        os.environ.setdefault("VLLM_DISABLE_COMPILE_CACHE", "1")


def _made(self: Any, vllm_config: Any, *_: Any, **__: Any) -> None:
    """A model runner gets a dumper where its server wants dumps."""
    config = read_config(getattr(vllm_config, "additional_config", None))
    # Another platform's runner with steps of its own brackets them itself.
    if config is not None and is_changed(type(self).execute_model):
        self._sonde_dumper = Dumper(config, vllm_config)
        _dumpers.append(self._sonde_dumper)


def _execute_model(self: Any, scheduler_output: Any, *_: Any, **kwargs: Any) -> Around:
    """A step begins, and ends where there is no second half."""
    dumper = getattr(self, "_sonde_dumper", None)
    if dumper is None or kwargs.get("dummy_run"):
        return
    dumper.begin(self, scheduler_output)
    is_over = True
    try:
        output = yield
        is_over = output is not None or not hasattr(self, "sample_tokens")
    finally:
        if is_over:
            dumper.end()


def _second_half(self: Any, *_: Any, **__: Any) -> Around:
    try:
        yield
    finally:
        dumper = getattr(self, "_sonde_dumper", None)
        if dumper is not None:
            dumper.end()


class Dumper:
    """One model runner of this process. Nothing that fails in here reaches the server."""

    def __init__(self, config: Any, vllm_config: Any) -> None:
        self._config = config
        self._rank = _rank_of(vllm_config.parallel_config)
        self._service: Any = None
        self._selection: Optional[Selection] = None
        _report.note("dump", config.dump_path or "")
        self._is_open = False
        self._was_busy = False
        self._has_failed = False
        self._skipped = 0
        self._is_compiled = is_compiled = _configuration.is_compiled(vllm_config)
        if is_compiled and config.graph is None and not _without_graph(config):
            config.graph = "boundaries"
            _report.log(_BOUNDARIES)
        if is_compiled and config.graph is not None:
            _watch_graphs(config)
        elif is_compiled:
            _report.log(_COMPILED, error=True)
        control = os.environ.get("SONDE_CONTROL")
        if config.requests is not None or control:
            self._selection = Selection()
        if config.requests is not None:
            self._selection.order(read_order(config.requests))
        if control:
            parallel = vllm_config.parallel_config
            rank, size = getattr(parallel, "rank", 0), parallel.world_size
            _dump_control.listen(control, rank, size, self._selection, read_order)
        # Wrappers in the way of the compiler would change what it makes.
        if self._selection is None and not is_compiled:
            self._make()

    def _make(self) -> Any:
        from sonde.torch.precision._service import Service

        self._service = Service(self._config)
        self._service.loop = self._skipped
        return self._service

    def weights(self, model: Any) -> None:
        """The model is loaded, and not changed for this processor yet."""
        if not self._config.weights or self._has_failed:
            return
        try:
            service = self._service or self._make()
            service.dump_weights(model, self._rank)
            if self._is_compiled:
                service.apis.remove()  # the compiler comes next
        except Exception as problem:  # noqa: BLE001: the boundary to the server
            self._fail(problem)

    def begin(self, runner: Any, scheduled: Any) -> None:
        """A call of ``execute_model`` begins."""
        self.end()  # of a step whose second half never came
        if self._has_failed:
            return
        try:
            if not getattr(scheduled, "total_num_scheduled_tokens", 0):
                if self._selection is not None:
                    self._selection.forget(getattr(scheduled, "finished_req_ids", None))
                    self._report_when_done()
            elif self._selection is None or self._selection.wants(scheduled):
                self._begin(runner, scheduled)
            else:
                self._skip()
        except Exception as problem:  # noqa: BLE001: the boundary to the server
            self._fail(problem)

    def _begin(self, runner: Any, scheduled: Any) -> None:
        service = self._service or self._make()
        model = runner.get_model() if hasattr(runner, "get_model") else runner.model
        self._is_open = True
        service.start(model, None, self._rank, dict(scheduled.num_scheduled_tokens))
        self._was_busy = True

    def _skip(self) -> None:
        self._skipped += 1
        if self._service is not None:
            self._service.skip_step()
        self._report_when_done()

    def _report_when_done(self) -> None:
        if self._was_busy and self._selection is not None and self._selection.is_idle:
            self._was_busy = False
            _report.log(
                f"the chosen requests ({self._selection.chosen} so far) are dumped: "
                f"{self._config.dump_path}"
            )

    def end(self) -> None:
        """The step is over, however it ended."""
        if not self._is_open:
            return
        self._is_open = False
        self._skipped += 1
        try:
            self._service.stop()
            self._service.step()
        except Exception as problem:  # noqa: BLE001: the boundary to the server
            self._fail(problem)

    def _fail(self, problem: Exception) -> None:
        self._has_failed = True
        self._is_open = False
        if self._service is not None:
            self._service.rest()
        _report.log(f"the dump of this server ends here: {problem}", error=True)


def _without_graph(config: Any) -> "list[str]":
    from sonde.torch.precision._config import without_graph

    return without_graph(config)


def _watch_graphs(config: Any) -> None:
    """Before the model is compiled; what records comes later."""
    from sonde.torch.precision import _graph_complete

    _graph_complete.watch(config)


def _rank_of(parallel: Any) -> Optional[int]:
    """Ranks repeat between the engines of a data-parallel server: they count on. None: torch's."""
    engine = getattr(parallel, "data_parallel_rank", 0)
    if getattr(parallel, "data_parallel_size", 1) < 2 or not engine:
        return None
    return engine * parallel.world_size + getattr(parallel, "rank", 0)
