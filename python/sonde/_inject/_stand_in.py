"""What a program under ``sonde run`` gets where it asks for ``torch.profiler.profile``.

The program decides when to record, Sonde how: the captures lie in ``--profile-save-path`` and are
parsed like all others; the program's own handler still writes its files, in torch's form. From the
first profiler that the program starts, the recording of the whole program has ended (what it has
is kept), since a process records one capture at a time.

Not used where the command line says when to record (steps, a control address): there the
program's profiler remains torch's own.
"""

import inspect
import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Any, Callable, Optional

from sonde._inject import _report
from sonde._inject._options import Options
from sonde.torch import _console, _export, _tables
from sonde.torch._enums import AiCMetrics, ProfilerActivity, ProfilerLevel
from sonde.torch._experimental import _ExperimentalConfig
from sonde.torch._profiler import profile
from sonde.torch._recording import Settings

_LEVELS = {
    "level_none": ProfilerLevel.Level_none,
    "level0": ProfilerLevel.Level0,
    "level1": ProfilerLevel.Level1,
    "level2": ProfilerLevel.Level2,
}


_SERVING_DOMAIN = "sonde.serving"


class TraceFolder:
    """What a server gets for ``torch.profiler.tensorboard_trace_handler``: the folder of its
    captures and the first part of their names. Nothing is written while the server waits."""

    def __init__(
        self, dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False
    ) -> None:
        self.directory = None if "://" in dir_name else dir_name
        self.worker_name = worker_name
        #: Whether the worker is a front-end, which calls nothing of torch.
        self.is_front_end = (worker_name or "").endswith(".async_llm")

    def __call__(self, prof: Any) -> None:
        """Does nothing."""


class NoTable(_tables.AverageList):
    """Instead of the operator table that a server asks for before it answers."""

    def __init__(self, span: str) -> None:
        super().__init__()
        self._span = span

    def table(self, **_: Any) -> str:
        """Where the operators will stand."""
        if not self._span:
            return ""
        return f"operators: {os.path.join(self._span, 'ASCEND_PROFILER_OUTPUT')}\n"


class TorchProfile(profile):
    """``torch.profiler.profile`` by its parameters and methods.

    A keyword that is not known here (a newer torch's) is named in one line and has no effect.
    """

    #: What `install` was given.
    options = Options()
    owner: Any = None
    serves = False

    def __init__(
        self,
        *,
        activities: Optional[Iterable[Any]] = None,
        schedule: Optional[Callable[[int], Any]] = None,
        on_trace_ready: Optional[Callable[..., Any]] = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: Optional[bool] = None,
        custom_trace_id_callback: Optional[Callable[[], str]] = None,
        **others: Any,
    ) -> None:
        unknown = [*others, *(["experimental_config"] if experimental_config is not None else [])]
        for name in unknown:
            _report.say(f"torch.profiler.profile({name}=...) has no effect under sonde run")
        options = self.options
        super().__init__(
            # The CPU may be the device; torch's programs ask for it by ``CPU`` alone.
            activities=None if activities is None else [*activities, ProfilerActivity.NPU],
            schedule=schedule,
            on_trace_ready=on_trace_ready,
            record_shapes=bool(record_shapes or options.record_shapes),
            profile_memory=bool(profile_memory or options.with_memory),
            with_stack=bool(with_stack or options.with_stack),
            with_flops=bool(with_flops),
            with_modules=bool(with_modules or options.with_modules),
            experimental_config=_ExperimentalConfig(
                profiler_level=_LEVELS[options.level],
                aic_metrics=AiCMetrics.AiCoreNone,
                mstx=options.mstx,
            ),
            execution_trace_observer=execution_trace_observer,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self._keeps_data = True
        # A server's steps are told by its own seams.
        self._marks_steps = self._marks_steps and not self.serves
        self._folder = on_trace_ready if isinstance(on_trace_ready, TraceFolder) else None
        if self._folder is not None and self._folder.is_front_end:
            self._disabled = "a front-end calls no operator"  # its requests are told otherwise

    def _settings(self) -> Settings:
        settings = super()._settings()
        folder = self._folder.directory if self._folder is not None else None
        settings.directory = os.path.abspath(folder or self.options.save_path)
        settings.worker_name = self._folder.worker_name if self._folder is not None else None
        settings.own_domains = [_SERVING_DOMAIN] if self.serves else []
        return settings

    def _warn_of_schedule(self, text: str) -> None:
        """As torch does: ending while it records is no mistake."""
        if not text.startswith("Incorrect schedule: Stop") and not text.startswith("Stop profiler"):
            super()._warn_of_schedule(text)

    @_console.guarded()
    def start(self) -> None:
        """Starts recording, on the ranks that the command line chose."""
        if not self.owner.wants_this_rank():
            self._disabled = "this rank is not in the list of ranks"
        if not self._disabled:
            super().start()

    def _init(self) -> None:
        self.owner.yield_to_program()
        super()._init()

    def _start(self) -> None:
        super()._start()
        self.owner.window_began(self.span_path)

    def _trace_ready(self) -> None:
        try:
            super()._trace_ready()
        finally:
            if self.options.analyse and self.span_path:
                self.owner.parse_window(self.span_path)

    @_console.guarded(default=_tables.AverageList([]))
    def key_averages(self, group_by_input_shape: bool = False, **_: Any) -> _tables.AverageList:
        """Operator calls summed up by name; a server gets only the place where they will be."""
        if self.serves:
            return NoTable(self.span_path)
        return super().key_averages(group_by_input_shape)

    @_console.guarded()
    def export_chrome_trace(self, output_path: str, **_: Any) -> None:
        """Writes the trace in the form of torch's profiler, gzip for ``.gz``."""
        if self._disabled:
            return
        folder = tempfile.mkdtemp(prefix="sonde_trace_")
        try:
            trace = _export.kineto_trace(self.span_path, folder)
            _export.copy(trace, os.fspath(output_path))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def install(torch: Any, options: Options, owner: Any, serves: bool) -> None:
    """Replaces ``torch.profiler.profile``.

    ``owner`` is the recording of this process (``Run``), which steps aside when a profiler starts;
    ``serves``: the process belongs to a server, which must not wait for files.
    """
    TorchProfile.options = options
    TorchProfile.owner = owner
    TorchProfile.serves = serves
    TorchProfile.__doc__ = inspect.getdoc(torch.profiler.profile)
    for module in (torch.profiler, torch.profiler.profiler):
        module.profile = TorchProfile
        if serves:
            module.tensorboard_trace_handler = TraceFolder
