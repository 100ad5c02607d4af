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
from sonde.torch import _console, _export
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


class TorchProfile(profile):
    """``torch.profiler.profile`` by its parameters and methods.

    A keyword that is not known here (a newer torch's) is named in one line and has no effect.
    """

    #: What `install` was given.
    options = Options()
    owner: Any = None
    marks_steps = True
    #: Parent folder and first part of the folders' names of the next captures; None: the defaults.
    directory: Optional[str] = None
    worker_name: Optional[str] = None

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
        for name in others:
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
        self._marks_steps = self._marks_steps and self.marks_steps

    def _settings(self) -> Settings:
        settings = super()._settings()
        settings.directory = os.path.abspath(self.directory or self.options.save_path)
        settings.worker_name = self.worker_name
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
            return
        super().start()

    def _init(self) -> None:
        self.owner.yield_to_program()
        super()._init()

    def _trace_ready(self) -> None:
        try:
            super()._trace_ready()
        finally:
            if self.options.analyse:
                self.owner.parse_window(self.span_path)

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


def install(torch: Any, options: Options, owner: Any, marks_steps: bool) -> None:
    """Replaces ``torch.profiler.profile``.

    ``owner`` is the recording of this process (``Run``), which steps aside when a profiler starts;
    ``marks_steps``: whether the program's ``step()`` is a step of the trace.
    """
    TorchProfile.options = options
    TorchProfile.owner = owner
    TorchProfile.marks_steps = marks_steps
    TorchProfile.__doc__ = inspect.getdoc(torch.profiler.profile)
    for module in (torch.profiler, torch.profiler.profiler):
        module.profile = TorchProfile
